#include "cache/file/set_aside.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>

#include "cache/file/lock_file.h"
#include "cache/file/publish.h"
#include "cache/sqlite/schema.h"
#include "cache/sqlite/sqlite.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;
using Mode = sqlite::Connection::Mode;

constexpr std::array kSideFiles{"-journal", "-wal", "-shm"};

// The bytes that SQLite locks to exclude other processes (sqlite.org/fileformat.html, "The
// Lock-Byte Page"): pending, reserved, and 510 shared ones.
constexpr off_t kFirstLockByte = 0x40000000;
constexpr off_t kLockBytes = 512;

Descriptor open_file(const fs::path& path, int flags) {
  Descriptor file(open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) {
    throw_errno("cannot open", path);
  }
  return file;
}

bool lock_against_sqlite(const Descriptor& file, int busy_timeout_ms) {
  struct flock all_lock_bytes {};
  all_lock_bytes.l_type = F_WRLCK;
  all_lock_bytes.l_whence = SEEK_SET;
  all_lock_bytes.l_start = kFirstLockByte;
  all_lock_bytes.l_len = kLockBytes;
  const BusyTimeout timeout{std::chrono::milliseconds(busy_timeout_ms)};
  while (fcntl(file.number(), F_OFD_SETLK, &all_lock_bytes) != 0) {
    if (!timeout.wait()) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool is_whole(const fs::path& path, int busy_timeout_ms) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || status.st_size == 0) {
    return false;
  }
  try {
    auto connection = sqlite::Connection::open(path, Mode::kReadWrite, busy_timeout_ms);
    const std::int64_t version = connection.integer("PRAGMA user_version");
    if (version > kSchemaVersion) {
      return true;
    }
    if (version < 1 || !connection.header_on_disk().is_writable ||
        connection.text("PRAGMA integrity_check(1)") != "ok" ||
        !connection.text("PRAGMA foreign_key_check").empty() ||
        connection.integer("PRAGMA freelist_count") >= connection.integer("PRAGMA page_count")) {
      return false;
    }
    check_schema(connection);
    return true;
  } catch (const sqlite::Error& error) {
    return !error.is_damage();
  }
}

namespace {

// Gives the damaged file a second name, under which it is kept. This is a link, not a renaming: the
// file must keep its first name, and its lock, until the new file takes that name. On a file system
// without links, copies the file.
void set_aside(const Descriptor& damaged, const fs::path& path) {
  const fs::path aside = aside_of(path);
  unlink(aside.c_str());
  if (link(path.c_str(), aside.c_str()) != 0) {
    copy_bytes(damaged, aside);
  }
  for (const char* side_file : kSideFiles) {
    // SQLite would apply a remaining side file to the new file.
    (void)std::rename((path.string() + side_file).c_str(), (aside.string() + side_file).c_str());
  }
}

// The path quoted for a shell.
std::string quoted(const fs::path& path) {
  std::string text = "'";
  for (const char letter : path.string()) {
    text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  }
  return text + "'";
}

}  // namespace

fs::path aside_of(const fs::path& path) {
  return path.string() + ".corrupt";
}

// If `.dump` meets damage, its output ends with ROLLBACK; sed replaces that with COMMIT. Does not
// use `.recover`, because Debian's SQLite is built without it.
std::string recovery_command(const fs::path& path) {
  const std::string recovered = quoted(fs::path(path.string() + ".recovered"));
  return "(umask 077; rm -f " + recovered + "; sqlite3 " + quoted(aside_of(path)) +
         " .dump | sed 's/^ROLLBACK.*/COMMIT;/' | sqlite3 " + recovered + "); tunedgemm merge " +
         recovered + " --cache " + quoted(path);
}

Replacement replace_damaged(const fs::path& path, StoreOptions::Journal journal,
                            int busy_timeout_ms) {
  const LockFile lock_file(path);
  const LockFile::Held alone(lock_file, busy_timeout_ms);
  if (!alone) {
    return {false, path.string() + " is damaged, and another process is still setting it aside"};
  }
  if (is_whole(path, busy_timeout_ms)) {
    return {true, ""};
  }

  // The lock excludes every process that has the file open with SQLite, so none is inside a
  // transaction. Before its next transaction, each notices that the path has another file.
  Descriptor damaged = open_file(path, O_RDWR);
  if (!lock_against_sqlite(damaged, busy_timeout_ms)) {
    // Keep the file open: closing it would drop the locks of another Store in this process
    // (fcntl(2), "Record locking").
    damaged.keep_open();
    return {false, path.string() + " is damaged and in use by other processes; close them"};
  }

  struct stat status {};
  const bool is_empty = fstat(damaged.number(), &status) == 0 && status.st_size == 0;
  if (!is_empty && application_id(damaged) != kApplicationId) {
    return {false, path.string() + " is now a file of another program and is left alone"};
  }
  // Everything that can fail comes before any change, so a full disk leaves the damaged file in
  // place.
  const PrivateBuild fresh(path, [&](const fs::path& build) { build_database(build, journal); });
  if (is_empty) {
    fresh.publish_in_place();
    return {true, path.string() + " was an empty file and is now a database"};
  }
  set_aside(damaged, path);
  fresh.publish_in_place();
  return {true, path.string() + " was damaged: it is kept as " +
                    aside_of(path).filename().string() +
                    " and a new cache was started. To recover its readable rows, run: " +
                    recovery_command(path)};
}

}  // namespace tunedgemm::internal
