#include "cache/file/salvage.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <vector>

#include "cache/file/lock_file.h"
#include "cache/file/publish.h"
#include "cache/sqlite/busy_timeout.h"
#include "cache/sqlite/schema.h"

namespace tunedgemm {
namespace {

namespace fs = std::filesystem;
using Mode = sqlite::Connection::Mode;

constexpr std::array kSideFiles{"-journal", "-wal", "-shm"};

// The bytes that SQLite's processes lock to exclude one another (sqlite.org/fileformat.html, "The
// Lock-Byte Page"): pending, reserved, and 510 shared ones.
constexpr off_t kFirstLockByte = 0x40000000;
constexpr off_t kLockBytes = 512;

[[noreturn]] void fail(const char* doing, const fs::path& path) {
  throw fs::filesystem_error(doing, path, std::error_code(errno, std::generic_category()));
}

// A file descriptor, closed when destroyed unless it is kept.
class File {
 public:
  File(const fs::path& path, int flags) : handle_(open(path.c_str(), flags | O_CLOEXEC, 0600)) {
    if (handle_ < 0) {
      fail("cannot open", path);
    }
  }
  ~File() {
    if (handle_ >= 0) {
      close(handle_);
    }
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int handle() const { return handle_; }
  void keep_open() { handle_ = -1; }

 private:
  int handle_;
};

bool lock_against_sqlite(const File& file, int busy_timeout_ms) {
  struct flock all_lock_bytes {};
  all_lock_bytes.l_type = F_WRLCK;
  all_lock_bytes.l_whence = SEEK_SET;
  all_lock_bytes.l_start = kFirstLockByte;
  all_lock_bytes.l_len = kLockBytes;
  const BusyTimeout timeout{std::chrono::milliseconds(busy_timeout_ms)};
  while (fcntl(file.handle(), F_OFD_SETLK, &all_lock_bytes) != 0) {
    if (!timeout.wait()) {
      return false;
    }
  }
  return true;
}

bool is_healthy(const fs::path& path, int busy_timeout_ms) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0 || found.st_size == 0) {
    return false;
  }
  try {
    auto connection = sqlite::Connection::open(path, Mode::kReadWrite, busy_timeout_ms);
    return connection.text("PRAGMA integrity_check(1)") == "ok";
  } catch (const sqlite::Error& error) {
    return !error.is_damage();
  }
}

// "<path>.corrupt-20261121T103205Z", a name that is not taken.
fs::path aside_of(const fs::path& path) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), ".corrupt-%Y%m%dT%H%M%SZ", &parts);
  const std::string first = path.string() + text.data();
  std::string aside = first;
  for (int number = 2; fs::exists(aside); ++number) {
    aside = first + "-" + std::to_string(number);
  }
  return aside;
}

void copy_bytes(const File& from, const fs::path& destination) {
  const File to(destination, O_WRONLY | O_CREAT | O_EXCL);
  std::vector<char> bytes(std::size_t{1} << 20);
  for (off_t offset = 0;;) {
    const ssize_t count = pread(from.handle(), bytes.data(), bytes.size(), offset);
    if (count == 0) {
      return;
    }
    if (count < 0 || write(to.handle(), bytes.data(), static_cast<std::size_t>(count)) != count) {
      fail("cannot copy to", destination);
    }
    offset += count;
  }
}

std::vector<std::string> tables_of(sqlite::Connection& connection) {
  // In the order in which they were made, so that a row comes after those that it refers to.
  sqlite::Statement names(connection,
                          "SELECT name FROM sqlite_schema WHERE type = 'table' "
                          "AND name NOT LIKE 'sqlite_%' AND name <> 'lease' ORDER BY rowid");
  std::vector<std::string> tables;
  while (names.step()) {
    names.read(tables.emplace_back());
  }
  return tables;
}

// Reads from one end of the table until it ends or its damage begins.
void copy_rows(const sqlite::Connection& from, sqlite::Connection& into, const std::string& table,
               const char* direction) {
  // A newer library may have added columns to the damaged file.
  const std::vector<std::string> names = into.column_names(table);
  try {
    sqlite::Statement rows(from, "SELECT * FROM " + table + " ORDER BY rowid " + direction);
    while (rows.step()) {
      std::vector<sqlite::Column> row;
      for (int column = 0; column < rows.column_count(); ++column) {
        const auto name = std::find(names.begin(), names.end(), rows.column_name(column));
        if (name != names.end()) {
          row.emplace_back(*name, rows.value(column));
        }
      }
      try {
        into.insert("INSERT OR IGNORE", table, row);
      } catch (const sqlite::Error& refused) {
        // A value that a sound row cannot have. The next row may be sound again.
        if (refused.code() != SQLITE_CONSTRAINT) {
          throw;
        }
      }
    }
  } catch (const sqlite::Error& error) {
    if (!error.is_damage()) {
      throw;
    }
  }
}

void drop_orphans(sqlite::Connection& connection) {
  // Dropping one row can orphan another, but no chain of references is longer than the tables are
  // many.
  for (std::int64_t found = 1; found > 0;) {
    std::vector<std::pair<std::string, std::int64_t>> orphans;
    sqlite::Statement check(connection, "PRAGMA foreign_key_check");
    while (check.step()) {
      auto& [table, row] = orphans.emplace_back();
      check.read(table, row);
    }
    for (const auto& [table, row] : orphans) {
      sqlite::Statement remove(connection, "DELETE FROM " + table + " WHERE rowid = ?");
      remove.bind(row).run();
    }
    found = static_cast<std::int64_t>(orphans.size());
  }
}

// Everything that can be read, between databases of one version.
void copy_tables(const sqlite::Connection& from, sqlite::Connection& into) {
  into.execute("PRAGMA foreign_keys = OFF");
  {
    sqlite::Transaction transaction(into);
    for (const std::string& table : tables_of(into)) {
      copy_rows(from, into, table, "ASC");
      copy_rows(from, into, table, "DESC");
    }
    drop_orphans(into);
    transaction.commit();
  }
  into.execute("PRAGMA foreign_keys = ON");
}

}  // namespace

std::int64_t salvage(const fs::path& damaged, sqlite::Connection& into) {
  try {
    auto from = sqlite::Connection::open(damaged, Mode::kReadWrite, 0);
    from.tolerate_truncation();
    const std::int64_t version = from.integer("PRAGMA application_id") == kApplicationId
                                     ? from.integer("PRAGMA user_version")
                                     : 0;
    if (version == schema_version()) {
      copy_tables(from, into);
    } else if (version > 0 && version < schema_version()) {
      auto older = sqlite::Connection::in_memory();
      migrate(older, migrations().first(static_cast<std::size_t>(version)));
      copy_tables(from, older);
      migrate(older, migrations());
      copy_tables(older, into);
    }
  } catch (const sqlite::Error& error) {
    if (!error.is_damage()) {
      throw;
    }
  }
  return into.integer("SELECT count(*) FROM winner");
}

Replacement replace_damaged(const fs::path& path, StoreOptions::Journal journal,
                            int busy_timeout_ms) {
  const LockFile lock_file(path);
  const LockFile::Held alone(lock_file, busy_timeout_ms);
  if (!alone) {
    return {false, path.string() + " is damaged, and its repair by another process takes long"};
  }
  if (is_healthy(path, busy_timeout_ms)) {
    return {true, ""};
  }

  // Excludes every process that has the file open with SQLite: none is in the middle of something,
  // and each finds after its next lock that the path has another file.
  File damaged(path, O_RDWR);
  if (!lock_against_sqlite(damaged, busy_timeout_ms)) {
    // Closing it would drop the locks of another Store in this process (fcntl(2), "Record
    // locking").
    damaged.keep_open();
    return {false, path.string() + " is damaged and in use by other processes; close them"};
  }

  const fs::path aside = aside_of(path);
  for (const char* side_file : kSideFiles) {
    // Mostly there is none.
    (void)std::rename((path.string() + side_file).c_str(), (aside.string() + side_file).c_str());
  }
  struct stat found {};
  if (fstat(damaged.handle(), &found) == 0 && found.st_size == 0) {
    PrivateBuild(path, [&](const fs::path& build) {
      build_database(build, journal, [](sqlite::Connection&) {});
    }).publish_in_place();
    return {true, path.string() + " was an empty file and is a database now"};
  }
  // A copy, because the file itself must stay under its lock until the new one has its name.
  copy_bytes(damaged, aside);
  std::int64_t winners = 0;
  PrivateBuild(path, [&](const fs::path& build) {
    build_database(build, journal,
                   [&](sqlite::Connection& fresh) { winners = salvage(aside, fresh); });
  }).publish_in_place();
  return {true, path.string() + " was damaged; it is kept as " + aside.filename().string() +
                    ", and its readable content (" + std::to_string(winners) +
                    " winners) is in the new file"};
}

}  // namespace tunedgemm
