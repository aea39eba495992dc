// Damage of every kind, each in a copy of one small cache: files cut off at many lengths, pages and
// headers overwritten. A start repairs what it meets, and keeps all that can be read.

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cache/sqlite/schema.h"
#include "cache/sqlite/sqlite.h"
#include "cache/store.h"
#include "tests/cache/support/sample.h"
#include "tests/support/catch.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_folder.h"

using namespace tunedgemm::internal;
namespace fs = std::filesystem;

namespace {

constexpr int kWinners = 40;
constexpr std::size_t kPage = 4096;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

sqlite::Connection connect(const fs::path& path) {
  return sqlite::Connection::open(path, sqlite::Connection::Mode::kReadWrite, 0);
}

// The bytes of a whole cache, made once.
const std::string& whole_cache() {
  static const std::string bytes = [] {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "cache.db";
    {
      auto options = sample::options(path);
      options.journal = StoreOptions::Journal::kRollback;
      const auto store = Store::open(options);
      for (int m = 1; m <= kWinners; ++m) {
        store->put(sample::record(m), sample::source(m), sample::binary(3000),
                   {sample::trial(64, m), sample::trial(128, 2 * m)});
        store->note_request(sample::problem(1000 + m), sample::device(), 1);
      }
    }
    return read_file(path);
  }();
  return bytes;
}

// All values of a row; empty if it cannot be read.
std::optional<std::vector<sqlite::Value>> row_of(const sqlite::Connection& connection,
                                                 const std::string& table, std::int64_t row) {
  try {
    sqlite::Statement find(connection, "SELECT * FROM " + table + " WHERE rowid = ?");
    if (!find.bind(row).step()) {
      return std::nullopt;
    }
    std::vector<sqlite::Value> values;
    for (int column = 0; column < find.column_count(); ++column) {
      values.push_back(find.value(column));
    }
    return values;
  } catch (const sqlite::Error&) {
    return std::nullopt;
  }
}

// The rows of a winner and of all that it refers to, each looked for by its number; empty if one of
// them cannot be read.
std::optional<std::vector<sqlite::Value>> rows_of_winner(const sqlite::Connection& connection,
                                                         std::int64_t winner) {
  auto rows = row_of(connection, "winner", winner);
  if (!rows) {
    return std::nullopt;
  }
  constexpr std::array kTables{"problem", "device", "toolchain", "config"};
  const std::vector<sqlite::Value> references(rows->begin() + 1, rows->begin() + 5);
  for (std::size_t table = 0; table < kTables.size(); ++table) {
    const auto* id = std::get_if<std::int64_t>(&references[table]);
    const auto row = id != nullptr ? row_of(connection, kTables.at(table), *id) : std::nullopt;
    if (!row) {
      return std::nullopt;
    }
    rows->insert(rows->end(), row->begin(), row->end());
  }
  return rows;
}

std::set<int> all_winners() {
  std::set<int> all;
  for (int m = 1; m <= kWinners; ++m) {
    all.insert(m);
  }
  return all;
}

// The winners that can be read in a file, and are as they were.
std::set<int> readable_winners(const fs::path& path) {
  const TemporaryFolder folder;
  const fs::path whole_path = folder.path() / "whole.db", copy = folder.path() / "copy.db";
  std::ofstream(whole_path, std::ios::binary) << whole_cache();
  fs::copy_file(path, copy);
  std::set<int> winners;
  try {
    const auto whole = connect(whole_path), damaged = connect(copy);
    for (int m = 1; m <= kWinners; ++m) {
      const auto expected = rows_of_winner(whole, m);
      REQUIRE(expected);
      if (rows_of_winner(damaged, m) == expected) {
        winners.insert(m);
      }
    }
  } catch (const sqlite::Error&) {  // it cannot even be opened
  }
  return winners;
}

std::set<int> winners_in(const Store& store) {
  std::set<int> winners;
  for (const Record& record : store.winners()) {
    winners.insert(static_cast<int>(record.problem.m));
  }
  return winners;
}

int count_looked_up(const Store& store, const std::set<int>& winners) {
  return static_cast<int>(std::count_if(winners.begin(), winners.end(), [&](int m) {
    return store.find(sample::problem(m), sample::device(), sample::toolchain(), sample::limits())
        .has_value();
  }));
}

// A start of a program, which reads all that there is and stores something.
struct Start {
  explicit Start(const fs::path& path) {
    const auto store = Store::open(sample::options(path));
    count_looked_up(*store, all_winners());
    for (int m = 1; m <= kWinners; ++m) {
      store->trials(sample::problem(m), sample::device(), sample::toolchain());
      store->find_binaries(sample::source(m), sample::toolchain(), 90,
                           sample::toolchain().compiler);
    }
    store->requests(sample::device());
    store->winners_with_state();
    store->put(sample::record(500), sample::source(500), sample::binary(), {});
    found = winners_in(*store);
    const StoreHealth health = store->health();
    state = health.state;
    for (const std::string& warning : health.warnings) {
      warnings += warning + "\n";
    }
  }

  std::set<int> found;
  StoreState state = StoreState::kMemoryOnly;
  std::string warnings;
};

int count_aside(const fs::path& folder) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    count += name.find(".corrupt") != std::string::npos ? 1 : 0;
    INFO(name);
    CHECK(name.find(".new-") == std::string::npos);
  }
  return count;
}

bool includes(const std::set<int>& all, const std::set<int>& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

// Starts twice with the damaged bytes. `must_keep`: all winners of which this is known beforehand.
void check_two_starts(const std::string& bytes, std::set<int> must_keep = {}) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "cache.db";
  std::ofstream(path, std::ios::binary) << bytes;
  must_keep.merge(readable_winners(path));

  const Start first(path);
  INFO("first start: " << first.warnings);
  if (bytes.size() >= 72 && bytes.substr(68, 4) == "tgem") {
    CHECK(includes(first.found, must_keep));
    const Start second(path);
    INFO("second start: " << second.warnings);
    CHECK(second.warnings.empty());
    CHECK(second.state == StoreState::kReadWrite);
    CHECK(includes(second.found, must_keep));
    CHECK(count_aside(folder.path()) <= 1);
    // A changed byte in an index can hide a row from look-ups, which nobody sees; doctor does.
    auto options = sample::options(path);
    options.examination = StoreOptions::Examination::kWhole;
    const auto examined = Store::open(options);
    CHECK(count_looked_up(*examined, must_keep) == static_cast<int>(must_keep.size()));
    CHECK(count_aside(folder.path()) <= 1);
    {
      auto connection = connect(path);
      CHECK(connection.text("PRAGMA integrity_check") == "ok");
      CHECK(connection.text("PRAGMA foreign_key_check").empty());
      CHECK_NOTHROW(check_schema(connection));
    }
  } else if (!bytes.empty()) {
    CHECK(first.state == StoreState::kMemoryOnly);
    CHECK(read_file(path) == bytes);
    CHECK(count_aside(folder.path()) == 0);
  }
}

// Half of them where the header, the schema and the roots of the tables are.
void check_truncations(int count) {
  std::mt19937_64 random(test_seed());
  const std::string& whole = whole_cache();
  for (int round = 0; round < count; ++round) {
    const std::size_t range = round % 2 == 0 ? 18 * kPage : whole.size();
    const std::size_t length = round == 0 ? 0 : random() % range;
    INFO("seed " << test_seed() << ", cut off at " << length << " of " << whole.size());
    check_two_starts(whole.substr(0, length));
  }
}

void check_damaged_pages(int count) {
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < count; ++round) {
    std::string bytes = whole_cache();
    const std::size_t pages = bytes.size() / kPage;
    std::string what;
    for (std::size_t damages = 1 + random() % 3; damages > 0; --damages) {
      const std::size_t page = random() % pages;
      // The whole page, or a piece of it; the application id stays.
      const bool all = random() % 2 == 0;
      const std::size_t begin = page * kPage + (all ? 0 : random() % kPage);
      const std::size_t end =
          all ? (page + 1) * kPage : std::min(begin + random() % 64, bytes.size());
      const int kind = static_cast<int>(random() % 3);
      for (std::size_t at = begin; at < end; ++at) {
        if (at < 68 || at >= 72) {
          bytes[at] = kind == 0 ? '\0' : kind == 1 ? '\x5a' : static_cast<char>(random());
        }
      }
      what +=
          " " + std::to_string(begin) + "-" + std::to_string(end) + " kind " + std::to_string(kind);
    }
    INFO("seed " << test_seed() << ", damaged" << what << " of " << bytes.size());
    check_two_starts(bytes);
  }
}

}  // namespace

TEST_CASE("A cache that was cut off is repaired once, and keeps what can be read") {
  check_truncations(16);
}

TEST_CASE("A cache with damaged pages is repaired once, and keeps what can be read") {
  check_damaged_pages(16);
}

TEST_CASE("A cache that was cut off anywhere, at 200 lengths", "[slow]") {
  check_truncations(200);
}

TEST_CASE("A cache with any damaged pages, 200 times", "[slow]") {
  check_damaged_pages(200);
}

TEST_CASE("A damaged header costs no winner") {
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 20; ++round) {
    std::string bytes = whole_cache();
    const std::size_t at = random() % 100;
    const char value = static_cast<char>(random());
    if (at >= 60 && at < 72) {
      continue;  // the version, which has a case of its own, and the application id
    }
    bytes[at] = value;
    INFO("seed " << test_seed() << ", byte " << at << " of the header is " << int{value});
    check_two_starts(bytes, all_winners());
  }
  std::string bytes = whole_cache();
  std::fill_n(bytes.begin(), 60, '\xff');
  check_two_starts(bytes, all_winners());
}

TEST_CASE("A version that cannot be is damage") {
  const int version = GENERATE(-1, 0, -2147483647 - 1, 1, 2, 3);
  std::string bytes = whole_cache();
  for (std::size_t byte = 0; byte < 4; ++byte) {
    bytes[60 + byte] = static_cast<char>(static_cast<unsigned>(version) >> (24 - 8 * byte));
  }
  INFO("version " << version);
  check_two_starts(bytes, all_winners());
}

TEST_CASE("Tables and views that are missing are damage") {
  const std::string name = GENERATE("trial", "request", "lease", "meta", "best", "winner_v1");
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "cache.db";
  std::ofstream(path, std::ios::binary) << whole_cache();
  {
    auto connection = connect(path);
    connection.tolerate_damage();
    connection.execute("DELETE FROM sqlite_schema WHERE name = '" + name + "'");
  }
  INFO(name);
  check_two_starts(read_file(path), all_winners());
}

TEST_CASE("What would be run when the cache is read or written is damage") {
  const std::string endless =
      "(WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number) "
      "SELECT count(*) FROM number)";
  const std::string change = GENERATE_COPY(
      "CREATE TRIGGER endless AFTER INSERT ON trial BEGIN "
      "INSERT INTO meta VALUES ('x', " +
          endless + "); END",
      "CREATE TRIGGER endless BEFORE DELETE ON lease BEGIN SELECT " + endless + "; END",
      "DROP TABLE request; CREATE VIEW request AS SELECT " + endless + " AS id",
      "DROP VIEW best; CREATE TABLE best (m INTEGER)");
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "cache.db";
  std::ofstream(path, std::ios::binary) << whole_cache();
  connect(path).execute(change);
  INFO(change);
  check_two_starts(read_file(path), all_winners());
}

TEST_CASE("However often a cache is damaged, one copy is kept aside") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "cache.db";
  std::ofstream(path, std::ios::binary) << whole_cache();
  for (int round = 1; round <= 4; ++round) {
    fs::resize_file(path, fs::file_size(path) - 3 * kPage);
    const std::string damaged = read_file(path);
    const Start start(path);
    INFO(start.warnings);
    CHECK(start.warnings.find("was damaged") != std::string::npos);
    CHECK(count_aside(folder.path()) == 1);
    CHECK(read_file(path.string() + ".corrupt") == damaged);
  }
}
