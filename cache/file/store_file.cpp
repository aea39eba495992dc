#include "cache/file/store_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cache/file/location.h"
#include "cache/file/lock_file.h"
#include "cache/file/publish.h"
#include "cache/file/set_aside.h"
#include "cache/sqlite/schema.h"
#include "cache/trust.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;
using Mode = sqlite::Connection::Mode;

constexpr const char* kRemedy =
    "; results are kept in memory only. Set TUNEDGEMM_CACHE to a file in a folder that you can "
    "write";

enum class PathState { kNothing, kEmptyFile, kFile, kOther };

// Uses only stat(2): opening and closing the file here would drop the locks that another Store of
// this process has on it (fcntl(2), "Record locking").
PathState path_state(const fs::path& path, struct stat& status) {
  if (stat(path.c_str(), &status) != 0) {
    return errno == ENOENT ? PathState::kNothing : PathState::kOther;
  }
  if (!S_ISREG(status.st_mode)) {
    errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    return PathState::kOther;
  }
  return status.st_size == 0 ? PathState::kEmptyFile : PathState::kFile;
}

StoreOptions::Journal journal_at(const fs::path& path, const StoreOptions& options) {
  return journal_for(options.journal, is_on_local_file_system(path.parent_path()),
                     sqlite3_libversion_number());
}

bool can_be_written(const fs::path& path) {
  // A transaction needs a journal beside the file.
  return access(path.c_str(), W_OK) == 0 && access(path.parent_path().c_str(), W_OK) == 0;
}

void create(const fs::path& path, const StoreOptions& options) {
  if (const auto error = make_private_folder(path.parent_path())) {
    throw fs::filesystem_error("cannot make the folder", path.parent_path(), error);
  }
  // If another process was faster, use its file.
  PrivateBuild(path, [&](const fs::path& build) {
    build_database(build, journal_at(path, options));
  }).publish_unless_there();
}

// SQLite opens the first three files together with the database, and would block on a FIFO. The
// error has the code SQLITE_IOERR, like SQLite's own error while another process moves them aside.
void check_side_files(const fs::path& path) {
  for (const char* side_file : {"-journal", "-wal", "-shm", ".lock"}) {
    const std::string name = path.string() + side_file;
    struct stat status {};
    if (lstat(name.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
      throw sqlite::Error(SQLITE_IOERR, name + " is in the way: it is not a regular file");
    }
  }
}

// Opening the file for writing rolls back the transaction of a killed process.
void roll_back_unfinished(const fs::path& path, int busy_timeout_ms) {
  sqlite::Connection::open(path, Mode::kReadWrite, busy_timeout_ms)
      .integer("PRAGMA schema_version");
}

// SQLite cannot create the log of a file in WAL mode in a folder that this user cannot write, so
// the file opens only as immutable. This user's programs cannot change the file there.
sqlite::Connection connect_to_read(const fs::path& path, int busy_timeout_ms) {
  try {
    auto connection = sqlite::Connection::open(path, Mode::kReadOnly, busy_timeout_ms);
    if (connection.header_on_disk().application_id == kApplicationId) {
      connection.integer("PRAGMA application_id");
    }
    return connection;
  } catch (const sqlite::Error& error) {
    const bool no_log = error.code() == SQLITE_CANTOPEN || error.code() == SQLITE_READONLY;
    if (!no_log) {
      throw;
    }
    if (can_be_written(path)) {
      roll_back_unfinished(path, busy_timeout_ms);
      return sqlite::Connection::open(path, Mode::kReadOnly, busy_timeout_ms);
    }
    if (access(path.parent_path().c_str(), W_OK) == 0) {
      throw;
    }
    return sqlite::Connection::open(path, Mode::kImmutable, busy_timeout_ms);
  }
}

enum class Purpose { kRead, kWrite };

std::optional<StoreFile> connect(const fs::path& path, const struct stat& status, Purpose purpose,
                                 const StoreOptions& options, const Warn& warn) {
  const bool writes = purpose == Purpose::kWrite;
  check_side_files(path);
  StoreFile file{writes ? sqlite::Connection::open(path, Mode::kReadWrite, options.busy_timeout_ms)
                        : connect_to_read(path, options.busy_timeout_ms),
                 path,
                 status.st_dev,
                 status.st_ino,
                 writes,
                 false,
                 std::nullopt};
  if (const auto header = file.connection.header_on_disk();
      header.application_id != kApplicationId) {
    warn(path.string() + " is not a cache of this library but " +
         (header.is_database ? "the SQLite database of another program"
                             : "a file that is no SQLite database") +
         ", and is left alone; " +
         (writes ? "results are kept in memory only. Name another file with --cache or "
                   "TUNEDGEMM_CACHE"
                 : "it is not read. Name another file with --cache, TUNEDGEMM_CACHE or "
                   "TUNEDGEMM_SYSTEM_CACHE") +
         ", or remove this one if nobody needs it");
    return std::nullopt;
  }
  const std::int64_t version = file.connection.integer("PRAGMA user_version");
  if (version < 1 || (version == kSchemaVersion && !file.connection.header_on_disk().is_writable)) {
    throw sqlite::Error(SQLITE_CORRUPT, "the header has a schema version that does not exist");
  }
  if (version > kSchemaVersion) {
    file.newer = true;
    if (writes) {
      warn(path.string() + " is of a newer version of this library (schema " +
           std::to_string(version) + ", this library has " + std::to_string(kSchemaVersion) +
           ") and is only read");
      return connect(path, status, Purpose::kRead, options, [](const std::string&) {});
    }
  } else if (writes) {
    file.connection.execute("PRAGMA synchronous = NORMAL");
    file.writers_lock.emplace(path);
  }
  // Reads the whole schema, to notice if it is damaged or does not match the header.
  { const sqlite::Statement statement(file.connection, "SELECT 1 FROM winner_v1, kernel_v1"); }
  if (!file.newer) {
    check_names(file.connection);
  }
  return file;
}

// Returns whether the path now has a usable file.
bool replace(const fs::path& path, const StoreOptions& options, const Warn& warn) {
  const Replacement replacement =
      replace_damaged(path, journal_at(path, options), options.busy_timeout_ms);
  if (!replacement.message.empty()) {
    warn(replacement.message + (replacement.done ? "" : kRemedy));
  }
  return replacement.done;
}

constexpr int kAttempts = 4;

// Whether the error may come from another process that is replacing the file. During a replacement,
// opening the file can give an I/O error, and reading the file can show the damage.
bool may_be_in_replacement(const sqlite::Error& error) {
  return error.code() == SQLITE_IOERR || error.is_damage();
}

void wait_for_replacement(const fs::path& path, const StoreOptions& options) {
  const LockFile lock_file = LockFile::if_there(path);
  const LockFile::Held after(lock_file, options.busy_timeout_ms);
}

// One attempt. Sets `again` if the path has changed and another attempt is worthwhile.
std::optional<StoreFile> try_to_write(const fs::path& path, const StoreOptions& options,
                                      const Warn& warn, bool& again) {
  struct stat status {};
  switch (path_state(path, status)) {
    case PathState::kNothing:
      create(path, options);
      again = true;
      return std::nullopt;
    case PathState::kOther:
      warn(path.string() + " cannot be used: " + std::strerror(errno) + kRemedy);
      return std::nullopt;
    case PathState::kEmptyFile:
      again = replace(path, options, warn);
      return std::nullopt;
    case PathState::kFile:
      break;
  }
  if (!can_be_written(path)) {
    warn(path.string() + " or its folder cannot be written by this user: it is only read");
    return open_to_read(path, options, warn);
  }
  try {
    auto file = connect(path, status, Purpose::kWrite, options, warn);
    if (!file || options.examination == StoreOptions::Examination::kQuick ||
        is_whole(path, options.busy_timeout_ms)) {
      return file;
    }
  } catch (const sqlite::Error& error) {
    if (!error.is_damage()) {
      throw;
    }
  }
  again = replace(path, options, warn);
  return std::nullopt;
}

// One attempt to open an existing file.
std::optional<StoreFile> try_to_read(const fs::path& path, const StoreOptions& options,
                                     const Warn& warn) {
  struct stat status {};
  switch (path_state(path, status)) {
    case PathState::kFile:
      return connect(path, status, Purpose::kRead, options, warn);
    case PathState::kEmptyFile:
      warn(path.string() + " is empty and is not used");
      break;
    case PathState::kNothing:
      warn("the cache " + path.string() + " does not exist yet");
      break;
    case PathState::kOther:
      warn(path.string() + " cannot be read: " + std::strerror(errno));
      break;
  }
  return std::nullopt;
}

}  // namespace

bool StoreFile::was_replaced() const {
  struct stat status {};
  return stat(path.c_str(), &status) != 0 || status.st_dev != device || status.st_ino != inode;
}

std::optional<StoreFile> open_to_write(const fs::path& requested, const StoreOptions& options,
                                       const Warn& warn) {
  fs::path path = requested;
  try {
    for (int attempt = 1; attempt <= kAttempts; ++attempt) {
      // Examine trust each time: somebody else may have created a missing folder or file.
      const Trust trust = examine_trust(requested);
      if (!trust) {
        warn(requested.string() + " is not used: " + trust.why_not + kRemedy);
        return std::nullopt;
      }
      path = trust.real_path;
      bool again = false;
      try {
        auto file = try_to_write(path, options, warn, again);
        if (file || !again) {
          return file;
        }
      } catch (const sqlite::Error& error) {
        if (!may_be_in_replacement(error) || attempt == kAttempts) {
          throw;
        }
        wait_for_replacement(path, options);
      }
    }
    warn(path.string() + " could not be replaced" + kRemedy);
  } catch (const std::exception& error) {
    warn(path.string() + ": " + error.what() + kRemedy);
  }
  return std::nullopt;
}

std::optional<StoreFile> replace_and_open(const fs::path& path, const StoreOptions& options,
                                          const Warn& warn) {
  try {
    if (replace(path, options, warn)) {
      return open_to_write(path, options, warn);
    }
  } catch (const std::exception& error) {
    warn(path.string() + " is damaged: " + error.what() + kRemedy);
  }
  return std::nullopt;
}

std::optional<StoreFile> open_to_read(const fs::path& requested, const StoreOptions& options,
                                      const Warn& warn) {
  fs::path path = requested;
  try {
    for (int attempt = 1;; ++attempt) {
      const Trust trust = examine_trust(requested);
      if (!trust) {
        warn(requested.string() + " is not used: " + trust.why_not);
        return std::nullopt;
      }
      path = trust.real_path;
      try {
        auto file = try_to_read(path, options, warn);
        // If the file was replaced while it was being opened, `file` is still the damaged one.
        const bool again = file && file->was_replaced();
        if (!again || attempt == kAttempts) {
          return file;
        }
      } catch (const sqlite::Error& error) {
        if (!may_be_in_replacement(error) || attempt == kAttempts) {
          throw;
        }
        wait_for_replacement(path, options);
      }
    }
  } catch (const std::exception& error) {
    warn(path.string() + " cannot be read: " + error.what());
  }
  return std::nullopt;
}

}  // namespace tunedgemm::internal
