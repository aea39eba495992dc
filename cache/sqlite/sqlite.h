#pragma once

// SQLite as owners that release in their destructors and errors that are exceptions. Private to
// cache: the exceptions stop at the members of Store.

#include <sqlite3.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace tunedgemm::internal {

/// Waits for other processes by looking again and again. Not thread-safe.
class BusyTimeout {
 public:
  explicit BusyTimeout(std::chrono::milliseconds limit) : limit_(limit) { restart(); }
  void restart() { end_ = std::chrono::steady_clock::now() + limit_; }
  /// Sleeps for a short and random time, by which those who wait for the same thing get equal
  /// chances; false once there has been enough of that.
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
  /// The file's content is at fault, not the moment. All statements are ours and fit a whole file:
  /// one that does not ("no such table") tells that a part of the schema was lost.
  bool is_damage() const {
    return code() == SQLITE_CORRUPT || code() == SQLITE_NOTADB || code() == SQLITE_ERROR;
  }

 private:
  int code_;
};

/// What a column can hold.
using Value =
    std::variant<std::monostate, std::int64_t, double, std::string, std::vector<std::byte>>;

/// A column by name with its value; enumerators are stored as their numbers.
struct Column {
  template <class T>
  Column(std::string_view column, T&& given)
      : name(column), value(to_value(std::forward<T>(given))) {}

  std::string_view name;
  Value value;

 private:
  template <class T>
  static Value to_value(T&& given) {
    using Plain = std::remove_cvref_t<T>;
    if constexpr (std::is_same_v<Plain, Value> || std::is_same_v<Plain, std::vector<std::byte>>) {
      return std::forward<T>(given);
    } else if constexpr (std::is_enum_v<Plain> || std::is_integral_v<Plain>) {
      return static_cast<std::int64_t>(given);
    } else if constexpr (std::is_floating_point_v<Plain>) {
      return static_cast<double>(given);
    } else {
      return std::string(std::forward<T>(given));
    }
  }
};

/// One database. Move-only; used by one thread at a time.
class Connection {
 public:
  /// kImmutable promises that nobody changes the file while it is open: no locks, no journal.
  enum class Mode { kReadWrite, kReadOnly, kImmutable };
  static Connection open(const std::filesystem::path& path, Mode mode, int busy_timeout_ms);
  static Connection in_memory();

  /// Makes the tables of another file known under `schema`, for reading alone.
  void attach_to_read(const std::filesystem::path& path, const std::string& schema);

  struct Header {
    std::uint32_t application_id = 0;  ///< 0: there is none
    /// Whether SQLite can write such a file: of a format that it knows, and with no free pages that
    /// are nowhere, which its own check does not see.
    bool is_writable = false;
  };
  /// What stands in the file, read without a look at anything else, so that a file of another
  /// program, or one that is no database, is not touched.
  Header header_on_disk() const;

  /// Runs statements without parameters, one after the other.
  void execute(const std::string& statements);
  /// The first column of the first row of a query without parameters; 0 or "" if there is no row.
  std::int64_t integer(const std::string& query);
  std::string text(const std::string& query);
  /// `schema` is "main", or that of attach_to_read().
  std::vector<std::string> column_names(std::string_view table,
                                        std::string_view schema = "main") const;

  /// Inserts a row; `verb` is "INSERT", "INSERT OR IGNORE" or "INSERT OR REPLACE".
  void insert(std::string_view verb, std::string_view table, std::span<const Column> row);
  void insert(std::string_view verb, std::string_view table, std::initializer_list<Column> row) {
    insert(verb, table, std::span(row.begin(), row.size()));
  }
  /// The `id` of the row with this value in the unique column, which is inserted if need be.
  std::int64_t find_or_insert(std::string_view table, const Column& unique,
                              std::span<const Column> row);
  /// How many rows the last statement changed.
  std::int64_t changes() const { return sqlite3_changes(handle_.get()); }

  sqlite3* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  Connection(sqlite3* opened, int busy_timeout_ms)
      : busy_timeout_(std::make_unique<BusyTimeout>(std::chrono::milliseconds(busy_timeout_ms))),
        handle_(opened) {}

  std::unique_ptr<BusyTimeout> busy_timeout_;  // SQLite keeps its address
  std::unique_ptr<sqlite3, Close> handle_;
};

/// One statement. Move-only; must not outlive its connection.
class Statement {
 public:
  Statement(const Connection& connection, std::string_view sql);

  /// Binds the parameters in order and makes the statement ready to run (again).
  template <class... T>
  Statement& bind(const T&... values) {
    sqlite3_reset(handle_.get());
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
  /// Runs a statement whose rows, if any, do not matter.
  void run();

  /// Reads the columns of the current row from left to right, as far as there are variables.
  template <class... T>
  void read(T&... variables) const {
    int column = 0;
    (read_one(column++, variables), ...);
  }

  int column_count() const { return sqlite3_column_count(handle_.get()); }
  std::string column_name(int column) const { return sqlite3_column_name(handle_.get(), column); }
  bool is_null(int column) const {
    return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
  }
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
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

/// Samples as they are stored: the bytes of the floats.
std::vector<std::byte> to_blob(const std::vector<float>& samples);

/// A write transaction that holds the right to write from its first moment (BEGIN IMMEDIATE), so
/// that waiting for other writers happens there and nowhere else. Rolled back unless committed.
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

}  // namespace tunedgemm::internal::sqlite
