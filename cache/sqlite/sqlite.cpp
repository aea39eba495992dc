#include "cache/sqlite/sqlite.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <thread>

namespace tunedgemm::internal {

bool BusyTimeout::wait() const {
  constexpr std::uint32_t kShortestUs = 200;
  constexpr std::uint32_t kLongestUs = 2000;
  if (std::chrono::steady_clock::now() >= end_) {
    return false;
  }
  thread_local std::minstd_rand random(std::random_device{}());
  std::uniform_int_distribution<std::uint32_t> length_us(kShortestUs, kLongestUs);
  std::this_thread::sleep_for(std::chrono::microseconds(length_us(random)));
  return true;
}

}  // namespace tunedgemm::internal

namespace tunedgemm::internal::sqlite {
namespace {

[[noreturn]] void fail(sqlite3* handle, int code, std::string_view doing) {
  std::string what = "SQLite, ";
  what += doing;
  what += ": ";
  what += handle != nullptr ? sqlite3_errmsg(handle) : sqlite3_errstr(code);
  const int system_error = handle != nullptr ? sqlite3_system_errno(handle) : 0;
  if (system_error != 0 && (code & 0xff) != SQLITE_BUSY) {
    what += std::string(" (") + std::strerror(system_error) + ")";
  }
  throw Error(code, what);
}

// Escapes the characters that have a meaning in a "file:" URI.
std::string uri_of(const std::filesystem::path& path, std::string_view parameter) {
  std::string uri = "file:";
  for (const char letter : path.string()) {
    switch (letter) {
      case '%':
        uri += "%25";
        break;
      case '?':
        uri += "%3f";
        break;
      case '#':
        uri += "%23";
        break;
      default:
        uri += letter;
    }
  }
  return uri.append("?").append(parameter);
}

std::string placeholders(std::span<const Column> row) {
  std::string names, marks;
  for (const Column& column : row) {
    names += (names.empty() ? "" : ", ") + std::string(column.name);
    marks += marks.empty() ? "?" : ", ?";
  }
  return "(" + names + ") VALUES (" + marks + ")";
}

// This replaces SQLite's own busy timeout, which polls less and less often, down to ten times a
// second. If several processes write all the time, one of them could find the file locked at every
// poll.
int wait_for_others(void* timeout, int times) {
  auto& waiting = *static_cast<BusyTimeout*>(timeout);
  if (times == 0) {
    waiting.restart();
  }
  return waiting.wait() ? 1 : 0;
}

}  // namespace

Connection Connection::open(const std::filesystem::path& path, Mode mode, int busy_timeout_ms) {
  const std::string file = mode == Mode::kImmutable ? uri_of(path, "immutable=1") : path.string();
  // A plain path is not mistaken for a URI: a URI begins with "file:", and all paths here are
  // absolute.
  const int flags = (mode == Mode::kReadWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) |
                    SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &opened, flags, nullptr);
  Connection connection(opened, busy_timeout_ms);
  if (code != SQLITE_OK) {
    fail(opened, code, "opening " + path.string());
  }
  sqlite3_busy_handler(opened, wait_for_others, connection.busy_timeout_.get());
  // The file may come from someone else, so its schema must not call functions with side effects.
  sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_FKEY, 1, nullptr);
  return connection;
}

Connection Connection::in_memory() {
  sqlite3* opened = nullptr;
  const int code =
      sqlite3_open_v2(":memory:", &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  Connection connection(opened, 0);
  if (code != SQLITE_OK) {
    fail(opened, code, "opening a database in memory");
  }
  sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_FKEY, 1, nullptr);
  return connection;
}

void Connection::attach_to_read(const std::filesystem::path& path, const std::string& schema) {
  const bool can_have_journal = access(path.parent_path().c_str(), W_OK) == 0;
  Statement attach(*this, "ATTACH ? AS " + schema);
  attach.bind(uri_of(path, can_have_journal ? "mode=ro" : "immutable=1"));
  try {
    attach.run();
  } catch (const Error& error) {
    throw error.code() == SQLITE_NOTADB ? Error(SQLITE_NOTADB, "it is not a database of SQLite")
                                        : error;
  }
}

// Reads through SQLite's own descriptor: closing another one would drop the locks that this process
// has on the file (fcntl(2), "Record locking").
Connection::Header Connection::header_on_disk() const {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(handle(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  std::array<unsigned char, 72> bytes{};
  if (file == nullptr || file->pMethods == nullptr ||
      file->pMethods->xRead(file, bytes.data(), static_cast<int>(bytes.size()), 0) != SQLITE_OK) {
    return {};
  }
  // sqlite.org/fileformat.html, "The Database Header".
  const auto number = [&](std::size_t offset) {
    std::uint32_t value = 0;
    for (std::size_t byte = offset; byte < offset + 4; ++byte) {
      value = value << 8U | bytes.at(byte);
    }
    return value;
  };
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  const bool is_database = std::equal(kMagic.begin(), kMagic.end(), bytes.begin());
  const bool is_known_format = bytes[18] == 1 || bytes[18] == 2;
  const std::uint32_t first_free_page = number(32), free_pages = number(36);
  return {is_database, number(68), is_known_format && (first_free_page == 0) == (free_pages == 0)};
}

void Connection::execute(const std::string& statements) {
  const int code = sqlite3_exec(handle(), statements.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) {
    fail(handle(), code, "running " + statements.substr(0, 80));
  }
}

std::int64_t Connection::integer(const std::string& query) {
  Statement statement(*this, query);
  std::int64_t value = 0;
  if (statement.step()) {
    statement.read(value);
  }
  return value;
}

std::string Connection::text(const std::string& query) {
  Statement statement(*this, query);
  std::string value;
  if (statement.step()) {
    statement.read(value);
  }
  return value;
}

std::vector<std::string> Connection::column_names(std::string_view table,
                                                  std::string_view schema) const {
  Statement statement(*this, "SELECT name FROM pragma_table_info(?, ?)");
  statement.bind(table, schema);
  std::vector<std::string> names;
  while (statement.step()) {
    statement.read(names.emplace_back());
  }
  return names;
}

void Connection::insert(std::string_view verb, std::string_view table,
                        std::span<const Column> row) {
  Statement statement(*this,
                      std::string(verb) + " INTO " + std::string(table) + " " + placeholders(row));
  int parameter = 0;
  for (const Column& column : row) {
    statement.bind_one(++parameter, column.value);
  }
  statement.run();
}

std::int64_t Connection::find_or_insert(std::string_view table, const Column& unique,
                                        std::span<const Column> row) {
  Statement find(*this, "SELECT id FROM " + std::string(table) + " WHERE " +
                            std::string(unique.name) + " = ?");
  std::int64_t id = 0;
  if (find.bind(unique.value).step()) {
    find.read(id);
    return id;
  }
  insert("INSERT", table, row);
  return sqlite3_last_insert_rowid(handle());
}

Statement::Statement(const Connection& connection, std::string_view sql)
    : idle_(*connection.idle_) {
  auto found = idle_.find(sql);
  if (found == idle_.end()) {
    sqlite3_stmt* prepared = nullptr;
    const int code =
        sqlite3_prepare_v3(connection.handle(), sql.data(), static_cast<int>(sql.size()),
                           SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
    if (code != SQLITE_OK) {
      fail(connection.handle(), code, "preparing " + std::string(sql.substr(0, 80)));
    }
    found = idle_.try_emplace(std::string(sql), prepared).first;
  }
  prepared_ = idle_.extract(found);
}

Statement::~Statement() {
  sqlite3_reset(handle());  // ends its transaction
  sqlite3_clear_bindings(handle());
  idle_.insert(std::move(prepared_));
}

void Statement::bind_one(int parameter, const Value& value) {
  sqlite3_stmt* statement = handle();
  const int code = std::visit(
      [&](const auto& held) {
        using Held = std::remove_cvref_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::int64_t>) {
          return sqlite3_bind_int64(statement, parameter, held);
        } else if constexpr (std::is_same_v<Held, double>) {
          return sqlite3_bind_double(statement, parameter, held);
        } else if constexpr (std::is_same_v<Held, std::string>) {
          return sqlite3_bind_text64(statement, parameter, held.data(), held.size(),
                                     SQLITE_TRANSIENT, SQLITE_UTF8);
        } else if constexpr (std::is_same_v<Held, std::vector<std::byte>>) {
          // Binding a null pointer would store NULL, not an empty blob.
          return held.empty() ? sqlite3_bind_zeroblob(statement, parameter, 0)
                              : sqlite3_bind_blob64(statement, parameter, held.data(), held.size(),
                                                    SQLITE_TRANSIENT);
        } else {
          return sqlite3_bind_null(statement, parameter);
        }
      },
      value);
  if (code != SQLITE_OK) {
    fail(sqlite3_db_handle(statement), code, std::string("binding to ") + sqlite3_sql(statement));
  }
}

bool Statement::step() {
  const int code = sqlite3_step(handle());
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code != SQLITE_DONE) {
    fail(sqlite3_db_handle(handle()), code,
         "running " + std::string(sqlite3_sql(handle())).substr(0, 80));
  }
  return false;
}

void Statement::run() {
  while (step()) {
  }
}

Value Statement::value(int column) const {
  switch (sqlite3_column_type(handle(), column)) {
    case SQLITE_INTEGER:
      return static_cast<std::int64_t>(sqlite3_column_int64(handle(), column));
    case SQLITE_FLOAT:
      return sqlite3_column_double(handle(), column);
    case SQLITE_TEXT: {
      std::string text;
      read_one(column, text);
      return text;
    }
    case SQLITE_BLOB: {
      std::vector<std::byte> bytes;
      read_one(column, bytes);
      return bytes;
    }
    default:
      return std::monostate();
  }
}

void Statement::read_one(int column, std::int64_t& variable) const {
  variable = sqlite3_column_int64(handle(), column);
}

void Statement::read_one(int column, int& variable) const {
  variable = sqlite3_column_int(handle(), column);
}

void Statement::read_one(int column, bool& variable) const {
  variable = sqlite3_column_int(handle(), column) != 0;
}

void Statement::read_one(int column, double& variable) const {
  variable = sqlite3_column_double(handle(), column);
}

void Statement::read_one(int column, std::string& variable) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(handle(), column));
  const int bytes = sqlite3_column_bytes(handle(), column);
  variable.assign(text != nullptr ? text : "", static_cast<std::size_t>(bytes));
}

void Statement::read_one(int column, std::vector<std::byte>& variable) const {
  const auto* bytes = static_cast<const std::byte*>(sqlite3_column_blob(handle(), column));
  const int count = sqlite3_column_bytes(handle(), column);
  variable.assign(bytes, bytes + count);
}

void Statement::read_one(int column, std::vector<float>& variable) const {
  const void* bytes = sqlite3_column_blob(handle(), column);
  const auto count = static_cast<std::size_t>(sqlite3_column_bytes(handle(), column));
  variable.resize(count / sizeof(float));
  if (!variable.empty()) {
    std::memcpy(variable.data(), bytes, variable.size() * sizeof(float));
  }
}

std::vector<std::byte> to_blob(const std::vector<float>& samples) {
  const auto bytes = std::as_bytes(std::span(samples));
  return {bytes.begin(), bytes.end()};
}

Transaction::Transaction(Connection& connection) : connection_(connection) {
  connection_.execute("BEGIN IMMEDIATE");
}

void Transaction::roll_back() noexcept {
  // SQLite has already rolled back if the disk is full or the file is damaged.
  if (sqlite3_get_autocommit(connection_.handle()) == 0) {
    sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

void Transaction::commit() {
  connection_.execute("COMMIT");
}

Savepoint::Savepoint(Connection& connection) : connection_(connection) {
  connection_.execute("SAVEPOINT work");
}

Savepoint::~Savepoint() {
  // SQLite has already rolled back the transaction if the disk is full or the file is damaged.
  if (!is_released_ && sqlite3_get_autocommit(connection_.handle()) == 0) {
    sqlite3_exec(connection_.handle(), "ROLLBACK TO work; RELEASE work", nullptr, nullptr, nullptr);
  }
}

void Savepoint::release() {
  connection_.execute("RELEASE work");
  is_released_ = true;
}

}  // namespace tunedgemm::internal::sqlite
