#include "cache/file/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>

#include <string>

#include "cache/sqlite/sqlite.h"

namespace tunedgemm::internal {

LockFile::LockFile(const std::filesystem::path& database) : LockFile(database, O_RDWR | O_CREAT) {}

// With O_NONBLOCK, opening a FIFO of this name does not block.
LockFile::LockFile(const std::filesystem::path& database, int flags)
    : file_(open((database.string() + ".lock").c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                 0600)) {}

LockFile LockFile::if_there(const std::filesystem::path& database) {
  return LockFile(database, O_RDONLY);
}

LockFile::Held::Held(const LockFile& file, int busy_timeout_ms) : handle_(file.file_.number()) {
  const BusyTimeout timeout{std::chrono::milliseconds(busy_timeout_ms)};
  while (handle_ >= 0 && flock(handle_, LOCK_EX | LOCK_NB) != 0) {
    if (!timeout.wait()) {
      handle_ = -1;
    }
  }
}

LockFile::Held::~Held() {
  if (handle_ >= 0) {
    flock(handle_, LOCK_UN);
  }
}

}  // namespace tunedgemm::internal
