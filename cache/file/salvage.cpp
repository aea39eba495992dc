#include "cache/file/salvage.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/file/descriptor.h"
#include "cache/file/lock_file.h"
#include "cache/file/publish.h"
#include "cache/sqlite/busy_timeout.h"
#include "cache/sqlite/schema.h"

namespace tunedgemm::internal {
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

Descriptor open_file(const fs::path& path, int flags) {
  Descriptor file(open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) {
    fail("cannot open", path);
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
  struct stat found {};
  if (stat(path.c_str(), &found) != 0 || found.st_size == 0) {
    return false;
  }
  try {
    auto connection = sqlite::Connection::open(path, Mode::kReadWrite, busy_timeout_ms);
    const std::int64_t version = connection.integer("PRAGMA user_version");
    if (version > schema_version()) {
      return true;
    }
    if (version < 1 || !connection.header_on_disk().is_writable ||
        connection.text("PRAGMA integrity_check(1)") != "ok" ||
        !connection.text("PRAGMA foreign_key_check").empty() ||
        connection.integer("PRAGMA freelist_count") >= connection.integer("PRAGMA page_count")) {
      return false;
    }
    if (version < schema_version()) {
      connection = connection.copy_in_memory();
      migrate(connection, migrations());
    }
    check_schema(connection);
    return true;
  } catch (const sqlite::Error& error) {
    return !error.is_damage();
  }
}

namespace {

// One name, so that there is one copy however often a file is damaged: the newest.
fs::path aside_of(const fs::path& path) {
  return path.string() + ".corrupt";
}

void copy_bytes(const Descriptor& from, const fs::path& destination) {
  const Descriptor to = open_file(destination, O_WRONLY | O_CREAT | O_TRUNC);
  std::vector<char> bytes(std::size_t{1} << 20);
  for (off_t offset = 0;;) {
    const ssize_t count = pread(from.number(), bytes.data(), bytes.size(), offset);
    if (count == 0) {
      return;
    }
    if (count < 0 || write(to.number(), bytes.data(), static_cast<std::size_t>(count)) != count) {
      fail("cannot copy to", destination);
    }
    offset += count;
  }
}

// With its journal or log, which SQLite applies to the copy when it opens it.
void copy_with_side_files(const Descriptor& damaged, const fs::path& path, const fs::path& to) {
  copy_bytes(damaged, to);
  for (const char* side_file : {"-journal", "-wal"}) {
    const Descriptor from(
        open((path.string() + side_file).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (from) {  // mostly there is none
      copy_bytes(from, to.string() + side_file);
    }
  }
}

// The damaged file under its second name. A link, since the file must stay under its lock until the
// new one has its name; a copy where there are no links.
void set_aside(const Descriptor& damaged, const fs::path& path) {
  const fs::path aside = aside_of(path);
  unlink(aside.c_str());
  if (link(path.c_str(), aside.c_str()) != 0) {
    copy_bytes(damaged, aside);
  }
  for (const char* side_file : kSideFiles) {
    // Beside the new file it would be taken for that one's.
    (void)std::rename((path.string() + side_file).c_str(), (aside.string() + side_file).c_str());
  }
}

// As Connection::header_on_disk, of a file that is locked here.
std::uint32_t application_id(const Descriptor& file) {
  std::array<unsigned char, 4> bytes{};
  constexpr off_t kOffset = 68;
  (void)!pread(file.number(), bytes.data(), bytes.size(), kOffset);
  std::uint32_t id = 0;
  for (const unsigned char byte : bytes) {
    id = id << 8U | byte;
  }
  return id;
}

// Gives a copy of a damaged file the header that a file of this library has
// (sqlite.org/fileformat.html, "The Database Header"). Of what differs between files only the
// version of the schema can matter to who reads, and stays if it may be right.
void mend_header(const fs::path& path) {
  const Descriptor file = open_file(path, O_RDWR);
  std::array<unsigned char, 100> header{};
  struct stat found {};
  if (fstat(file.number(), &found) != 0 || pread(file.number(), header.data(), header.size(), 0) !=
                                               static_cast<ssize_t>(header.size())) {
    return;
  }
  const auto put = [&](std::size_t offset, std::uint32_t value) {
    for (std::size_t byte = 0; byte < 4; ++byte) {
      header[offset + byte] = static_cast<unsigned char>(value >> (24 - 8 * byte));
    }
  };
  constexpr std::uint32_t kPageBytes = 4096;
  constexpr std::string_view kFirst{"SQLite format 3\0\x10\0", 18};
  std::copy(kFirst.begin(), kFirst.end(), header.begin());
  const bool has_log = fs::exists(path.string() + "-wal");
  header[18] = header[19] = has_log ? 2 : 1;  // write-ahead log, rollback journal
  header[20] = 0;                             // bytes reserved in each page
  header[21] = 64;
  header[22] = header[23] = 32;
  put(24, 1);  // changes: where this is what stands at 92, the number of pages counts
  put(92, 1);
  put(28, static_cast<std::uint32_t>((found.st_size + kPageBytes - 1) / kPageBytes));
  put(32, 0);  // free pages
  put(36, 0);
  put(44, 4);  // format of the schema
  put(52, 0);  // vacuuming by itself
  put(56, 1);  // UTF-8
  if (header[60] != 0 || header[61] != 0 || header[62] != 0 || header[63] == 0 ||
      header[63] > schema_version()) {
    put(60, static_cast<std::uint32_t>(schema_version()));
  }
  put(64, 0);
  if (pwrite(file.number(), header.data(), header.size(), 0) !=
      static_cast<ssize_t>(header.size())) {
    fail("cannot write", path);
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

// Something else of the name, such as a view, would be run and need not end.
bool is_table(const sqlite::Connection& connection, const std::string& name) {
  sqlite::Statement found(connection,
                          "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ? "
                          "AND sql LIKE 'CREATE TABLE%'");
  return found.bind(name).step();
}

// What came of reading rows one after the other.
struct Run {
  std::optional<std::int64_t> last;  ///< the number of the last row that could be read
  bool ended = false;                ///< whether it came to the end and not to a damage
};

// Moves to the next row. Empty where the damage begins.
std::optional<bool> step_if_readable(sqlite::Statement& rows) {
  try {
    return rows.step();
  } catch (const sqlite::Error& error) {
    if (!error.is_damage() && error.code() != SQLITE_TOOBIG) {
      throw;
    }
  }
  return std::nullopt;
}

// Copies the rows of a table, as far as they can be read.
class TableCopy {
 public:
  TableCopy(const sqlite::Connection& from, sqlite::Connection& into, std::string table)
      : from_(from), into_(into), table_(std::move(table)), names_(into.column_names(table_)) {}

  // From both ends, and then what lies between damaged pages: a search for the number of a row does
  // not pass through the pages of other rows.
  void run() const {
    sqlite::Statement upwards(
        from_, "SELECT rowid, * FROM " + table_ + " WHERE rowid >= ? ORDER BY rowid");
    const Run low = copy(upwards.bind(std::numeric_limits<std::int64_t>::min()));
    if (low.ended) {
      return;
    }
    sqlite::Statement downwards(from_, "SELECT rowid, * FROM " + table_ + " ORDER BY rowid DESC");
    const Run high = copy(downwards);
    const std::int64_t end = high.last.value_or(std::numeric_limits<std::int64_t>::max());
    std::int64_t next = low.last.value_or(0);
    for (int search = 0; search < kMostSearches && !high.ended && next < end - 1; ++search) {
      const Run between = copy(upwards.bind(++next));
      if (between.ended) {
        break;
      }
      next = std::max(next, between.last.value_or(next));
    }
  }

 private:
  // Each takes microseconds; a page holds some hundred rows at most.
  static constexpr int kMostSearches = 10'000;

  Run copy(sqlite::Statement& rows) const {
    Run run;
    while (true) {
      const std::optional<bool> there = step_if_readable(rows);
      if (!there.value_or(false)) {
        run.ended = there.has_value();
        return run;
      }
      rows.read(run.last.emplace());
      insert_if_sound(rows);
    }
  }

  void insert_if_sound(const sqlite::Statement& rows) const {
    std::vector<sqlite::Column> row;
    for (int column = 1; column < rows.column_count(); ++column) {
      // A newer library may have added columns to the damaged file.
      const auto name = std::find(names_.begin(), names_.end(), rows.column_name(column));
      if (name != names_.end()) {
        row.emplace_back(*name, rows.value(column));
      }
    }
    try {
      into_.insert("INSERT OR IGNORE", table_, row);
    } catch (const sqlite::Error& refused) {
      // A value that a sound row cannot have. The next row may be sound again.
      if (refused.code() != SQLITE_CONSTRAINT) {
        throw;
      }
    }
  }

  const sqlite::Connection& from_;
  sqlite::Connection& into_;
  std::string table_;
  std::vector<std::string> names_;
};

// A row that refers to one that was lost goes too, unless it can do without: a winner whose binary
// was lost stays.
void remove_references_to_lost_rows(sqlite::Connection& connection) {
  struct Orphan {
    std::string table;
    std::int64_t row = 0;
    std::string parent;
    std::int64_t key = 0;
  };
  // Deleting one row can orphan another, but no chain of references is longer than the tables are
  // many.
  for (std::size_t found = 1; found > 0;) {
    std::vector<Orphan> orphans;
    sqlite::Statement check(connection, "PRAGMA foreign_key_check");
    while (check.step()) {
      Orphan& orphan = orphans.emplace_back();
      check.read(orphan.table, orphan.row, orphan.parent, orphan.key);
    }
    for (const Orphan& orphan : orphans) {
      sqlite::Statement reference(connection,
                                  "SELECT c.name, c.\"notnull\" FROM pragma_foreign_key_list(?1) k "
                                  "JOIN pragma_table_info(?1) c ON c.name = k.\"from\" "
                                  "WHERE k.id = ?2");
      std::string column;
      bool is_needed = true;
      if (reference.bind(orphan.table, orphan.key).step()) {
        reference.read(column, is_needed);
      }
      sqlite::Statement(connection, is_needed ? "DELETE FROM " + orphan.table + " WHERE rowid = ?"
                                              : "UPDATE " + orphan.table + " SET " + column +
                                                    " = NULL WHERE rowid = ?")
          .bind(orphan.row)
          .run();
    }
    found = orphans.size();
  }
}

// Everything that can be read, between databases of one version.
void copy_tables(const sqlite::Connection& from, sqlite::Connection& into) {
  into.execute("PRAGMA foreign_keys = OFF");
  {
    sqlite::Transaction transaction(into);
    for (const std::string& table : tables_of(into)) {
      try {
        if (!is_table(from, table)) {
          continue;
        }
        TableCopy(from, into, table).run();
      } catch (const sqlite::Error& error) {
        if (!error.is_damage()) {
          throw;
        }
      }
    }
    remove_references_to_lost_rows(into);
    transaction.commit();
  }
  into.execute("PRAGMA foreign_keys = ON");
}

void copy_readable(const fs::path& damaged, sqlite::Connection& into) {
  try {
    auto from = sqlite::Connection::open(damaged, Mode::kReadWrite, 0);
    from.tolerate_damage();
    // Locked once, not for each search.
    from.execute("PRAGMA locking_mode = EXCLUSIVE");
    const std::int64_t version = from.integer("PRAGMA user_version");
    if (version < 1 || version >= schema_version()) {
      copy_tables(from, into);
      return;
    }
    auto older = sqlite::Connection::in_memory();
    migrate(older, migrations().first(static_cast<std::size_t>(version)));
    copy_tables(from, older);
    migrate(older, migrations());
    copy_tables(older, into);
  } catch (const sqlite::Error& error) {
    if (!error.is_damage()) {
      throw;
    }
  }
}

}  // namespace

std::int64_t salvage(const fs::path& damaged, sqlite::Connection& into) {
  // As it is, since its header may be sound; and what a damaged header hides.
  copy_readable(damaged, into);
  mend_header(damaged);
  copy_readable(damaged, into);
  return into.integer("SELECT count(*) FROM winner");
}

Replacement replace_damaged(const fs::path& path, StoreOptions::Journal journal,
                            int busy_timeout_ms) {
  const LockFile lock_file(path);
  const LockFile::Held alone(lock_file, busy_timeout_ms);
  if (!alone) {
    return {false, path.string() + " is damaged, and its repair by another process takes long"};
  }
  if (is_whole(path, busy_timeout_ms)) {
    return {true, ""};
  }

  // Excludes every process that has the file open with SQLite: none is in the middle of something,
  // and each finds after its next lock that the path has another file.
  Descriptor damaged = open_file(path, O_RDWR);
  if (!lock_against_sqlite(damaged, busy_timeout_ms)) {
    // Closing it would drop the locks of another Store in this process (fcntl(2), "Record
    // locking").
    damaged.keep_open();
    return {false, path.string() + " is damaged and in use by other processes; close them"};
  }

  struct stat found {};
  const bool is_empty = fstat(damaged.number(), &found) == 0 && found.st_size == 0;
  if (!is_empty && application_id(damaged) != kApplicationId) {
    return {false, path.string() + " is now a file of another program, and is left alone"};
  }
  // What fails, fails before anything has changed: a full disk leaves no copies behind.
  const PrivateBuild copy(path,
                          [&](const fs::path& to) { copy_with_side_files(damaged, path, to); });
  std::int64_t winners = 0;
  const PrivateBuild fresh(path, [&](const fs::path& build) {
    build_database(build, journal, [&](sqlite::Connection& into) {
      winners = is_empty ? 0 : salvage(copy.path(), into);
    });
  });
  if (is_empty) {
    fresh.publish_in_place();
    return {true, path.string() + " was an empty file and is a database now"};
  }
  set_aside(damaged, path);
  fresh.publish_in_place();
  return {true, path.string() + " was damaged; it is kept as " +
                    aside_of(path).filename().string() + ", and its readable content (" +
                    std::to_string(winners) + " winners) is in the new file"};
}

}  // namespace tunedgemm::internal
