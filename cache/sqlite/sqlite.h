#pragma once

// RAII owners for SQLite's handles, with errors as exceptions. Private to cache: the exceptions
// stop at the members of Store.

#include <sqlite3.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "cache/store_types.h"

namespace tunedgemm::internal {

/// Waits for other processes by polling. Not thread-safe.
class BusyTimeout {
 public:
  explicit BusyTimeout(std::chrono::milliseconds limit) : limit_(limit) { restart(); }
  void restart() { end_ = std::chrono::steady_clock::now() + limit_; }
  /// Sleeps for a short random time, which gives all waiters equal chances; false once the limit
  /// has passed.
  bool wait() const;

 private:
  std::chrono::milliseconds limit_;
  std::chrono::steady_clock::time_point end_;
};

}  // namespace tunedgemm::internal

namespace tunedgemm::internal::sqlite {

class Error : public std::runtime_error {
 public:
  Error(int code, const std::string& what) : std::runtime_error(what), code_(code) {}
  /// The primary result code: SQLITE_BUSY, SQLITE_CORRUPT, ...
  int code() const { return code_ & 0xff; }
  /// Whether the file's content is at fault, rather than a passing condition. All statements are
  /// ours and valid on an intact file, so an error such as "no such table" shows that a part of the
  /// schema was lost.
  bool is_damage() const {
    return code() == SQLITE_CORRUPT || code() == SQLITE_NOTADB || code() == SQLITE_ERROR;
  }

 private:
  int code_;
};

/// A column's value.
using Value = Cell;

/// A column's name and value; enumerators are stored as their numbers.
struct Column {
  template <class T>
  Column(std::string_view column, T&& column_value)
      : name(column), value(to_value(std::forward<T>(column_value))) {}

  std::string_view name;
  Value value;

 private:
  template <class T>
  static Value to_value(T&& argument) {
    using Plain = std::remove_cvref_t<T>;
    if constexpr (std::is_same_v<Plain, Value> || std::is_same_v<Plain, std::vector<std::byte>>) {
      return std::forward<T>(argument);
    } else if constexpr (std::is_enum_v<Plain> || std::is_integral_v<Plain>) {
      return static_cast<std::int64_t>(argument);
    } else if constexpr (std::is_floating_point_v<Plain>) {
      return static_cast<double>(argument);
    } else {
      return std::string(std::forward<T>(argument));
    }
  }
};

struct Finalize {
  void operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }
};
/// Prepared statements by their SQL.
using Prepared = std::map<std::string, std::unique_ptr<sqlite3_stmt, Finalize>, std::less<>>;

/// One database. Move-only; used by one thread at a time.
class Connection {
 public:
  /// kImmutable promises that nobody changes the file while it is open, so SQLite uses no locks and
  /// no journal.
  enum class Mode { kReadWrite, kReadOnly, kImmutable };
  static Connection open(const std::filesystem::path& path, Mode mode, int busy_timeout_ms);
  static Connection in_memory();

  /// Attaches another file, read-only, as `schema`.
  void attach_to_read(const std::filesystem::path& path, const std::string& schema);

  struct Header {
    bool is_database = false;
    std::uint32_t application_id = 0;  ///< 0: none
    /// Whether SQLite can write the file: its format must be known, and it must have a first free
    /// page if and only if its free-page count is not 0. integrity_check does not test this.
    bool is_writable = false;
  };
  /// Reads only the header, so that other programs' files, and files that are not databases, stay
  /// untouched.
  Header header_on_disk() const;

  /// Runs statements without parameters, in order.
  void execute(const std::string& statements);
  /// The first column of the first row of a query without parameters; 0 or "" if there is no row.
  std::int64_t integer(const std::string& query);
  std::string text(const std::string& query);
  /// `schema` is "main", or the one given to attach_to_read().
  std::vector<std::string> column_names(std::string_view table,
                                        std::string_view schema = "main") const;

  /// Inserts a row; `verb` is "INSERT", "INSERT OR IGNORE" or "INSERT OR REPLACE".
  void insert(std::string_view verb, std::string_view table, std::span<const Column> row);
  void insert(std::string_view verb, std::string_view table, std::initializer_list<Column> row) {
    insert(verb, table, std::span(row.begin(), row.size()));
  }
  /// The `id` of the row with this value in the unique column; inserts the row if it is missing.
  std::int64_t find_or_insert(std::string_view table, const Column& unique,
                              std::span<const Column> row);
  /// The number of rows that the last statement changed.
  std::int64_t changes() const { return sqlite3_changes(handle_.get()); }

  sqlite3* handle() const { return handle_.get(); }

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  Connection(sqlite3* opened, int busy_timeout_ms)
      : busy_timeout_(std::make_unique<BusyTimeout>(std::chrono::milliseconds(busy_timeout_ms))),
        handle_(opened),
        idle_(std::make_unique<Prepared>()) {}

  std::unique_ptr<BusyTimeout> busy_timeout_;  // SQLite keeps its address
  std::unique_ptr<sqlite3, Close> handle_;
  std::unique_ptr<Prepared> idle_;  // statements keep its address
};

/// One statement; must not outlive its connection. The connection keeps it prepared for the next
/// Statement with the same SQL, because preparing a query takes longer than most queries run.
class Statement {
 public:
  Statement(const Connection& connection, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Resets the statement, so that it can run again, and binds the parameters in order.
  template <class... T>
  Statement& bind(const T&... values) {
    sqlite3_reset(handle());
    int parameter = 0;
    (bind_one(++parameter, values), ...);
    return *this;
  }
  void bind_one(int parameter, const Value& value);
  template <class T>
  void bind_one(int parameter, const T& value) {
    bind_one(parameter, Column("", value).value);
  }

  /// Moves to the next row; false after the last one.
  bool step();
  /// Runs a statement and ignores its rows.
  void run();

  /// Reads the leading columns of the current row, one for each variable.
  template <class... T>
  void read(T&... variables) const {
    int column = 0;
    (read_one(column++, variables), ...);
  }

  int column_count() const { return sqlite3_column_count(handle()); }
  std::string column_name(int column) const { return sqlite3_column_name(handle(), column); }
  bool is_null(int column) const { return sqlite3_column_type(handle(), column) == SQLITE_NULL; }
  Value value(int column) const;

  void read_one(int column, std::int64_t& variable) const;
  void read_one(int column, int& variable) const;
  void read_one(int column, bool& variable) const;
  void read_one(int column, double& variable) const;
  void read_one(int column, std::string& variable) const;
  void read_one(int column, std::vector<std::byte>& variable) const;
  void read_one(int column, std::vector<float>& variable) const;
  template <class Enum>
  requires std::is_enum_v<Enum>
  void read_one(int column, Enum& variable) const {
    std::int64_t number = 0;
    read_one(column, number);
    variable = static_cast<Enum>(number);
  }

 private:
  sqlite3_stmt* handle() const { return prepared_.mapped().get(); }

  Prepared& idle_;
  Prepared::node_type prepared_;
};

/// The samples as they are stored: the bytes of the floats.
std::vector<std::byte> to_blob(const std::vector<float>& samples);

/// A write transaction. It takes the write lock at once (BEGIN IMMEDIATE), so it never waits for
/// other writers later. Rolled back unless committed.
class Transaction {
 public:
  [[nodiscard]] explicit Transaction(Connection& connection);
  ~Transaction() { roll_back(); }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();
  void roll_back() noexcept;

 private:
  Connection& connection_;
};

/// A part of a transaction that can be undone alone. Rolled back unless released.
class Savepoint {
 public:
  [[nodiscard]] explicit Savepoint(Connection& connection);
  ~Savepoint();
  Savepoint(const Savepoint&) = delete;
  Savepoint& operator=(const Savepoint&) = delete;
  void release();

 private:
  Connection& connection_;
  bool is_released_ = false;
};

}  // namespace tunedgemm::internal::sqlite
