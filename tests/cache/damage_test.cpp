// Damages copies of a small cache: cuts them off at many lengths, and overwrites pages and headers.
// If damage is noticed, the file must be set aside, once, and replaced. The next start must find no
// damage, and the same winners.

#include <algorithm>
#include <fstream>
#include <iterator>
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

// The bytes of an intact cache, made once.
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

std::set<int> all_winners() {
  std::set<int> all;
  for (int m = 1; m <= kWinners; ++m) {
    all.insert(m);
  }
  return all;
}

std::set<int> winners_in(const Store& store) {
  std::set<int> winners;
  for (const Record& record : store.winners()) {
    winners.insert(static_cast<int>(record.problem->m));
  }
  return winners;
}

int count_looked_up(const Store& store, const std::set<int>& winners) {
  return static_cast<int>(std::count_if(winners.begin(), winners.end(), [&](int m) {
    return store.find(sample::key(m), sample::limits()).has_value();
  }));
}

// A program start that reads everything and stores something.
struct Start {
  explicit Start(const fs::path& path) {
    const auto store = Store::open(sample::options(path));
    count_looked_up(*store, all_winners());
    for (int m = 1; m <= kWinners; ++m) {
      store->trials(sample::key(m));
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

void check_sound(const fs::path& path) {
  auto connection = connect(path);
  CHECK(connection.text("PRAGMA integrity_check") == "ok");
  CHECK(connection.text("PRAGMA foreign_key_check").empty());
  CHECK_NOTHROW(check_schema(connection));
}

bool passes_integrity_check(const fs::path& path) {
  try {
    return connect(path).text("PRAGMA integrity_check") == "ok";
  } catch (const sqlite::Error&) {
    return false;
  }
}

// Starts twice with the damaged bytes. The second start must find the same winners and no damage,
// unless the damage is in a part that the first start did not need, such as an unused index entry.
void check_two_starts(const std::string& bytes) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "cache.db", aside = path.string() + ".corrupt";
  std::ofstream(path, std::ios::binary) << bytes;
  const Start first(path);
  INFO("first start: " << first.warnings);
  if (bytes.empty()) {
    CHECK(first.state == StoreState::kReadWrite);
    return;
  }
  if (bytes.size() < 72 || bytes.substr(68, 4) != "tgem") {
    CHECK(first.state == StoreState::kMemoryOnly);
    CHECK(read_file(path) == bytes);
    CHECK(count_aside(folder.path()) == 0);
    return;
  }
  CHECK(first.state == StoreState::kReadWrite);
  CHECK(first.found.count(500) == 1);
  const bool is_set_aside = fs::exists(aside);
  CHECK((first.warnings.find("was damaged") != std::string::npos) == is_set_aside);
  if (is_set_aside) {
    CHECK(first.warnings.find(".dump | sed") != std::string::npos);
  }
  const bool is_unnoticed = !is_set_aside && !passes_integrity_check(path);
  const Start second(path);
  INFO("second start: " << second.warnings);
  CHECK(second.state == StoreState::kReadWrite);
  CHECK(second.found.count(500) == 1);
  if (!is_unnoticed) {
    CHECK(second.warnings.empty());
    CHECK(second.found == first.found);
  }
  // A changed byte in an index can hide a row from look-ups. Only a whole examination, such as
  // `tunedgemm doctor` runs, notices that.
  auto options = sample::options(path);
  options.examination = StoreOptions::Examination::kWhole;
  { const auto examined = Store::open(options); }
  CHECK(count_aside(folder.path()) <= 1);
  check_sound(path);
}

// Starts with bytes whose damage must be noticed at once.
void check_is_set_aside(const std::string& bytes) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "cache.db";
  std::ofstream(path, std::ios::binary) << bytes;
  const Start start(path);
  INFO(start.warnings);
  CHECK(start.warnings.find("was damaged") != std::string::npos);
  CHECK(read_file(path.string() + ".corrupt") == bytes);
  CHECK(start.found == std::set<int>{500});
  check_sound(path);
}

// Cuts files off. Every second cut is within the header, the schema and the roots of the tables.
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
      // Damages the whole page or a part of it, but never the application id.
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

TEST_CASE("A cache that was cut off is set aside once, and a new one starts") {
  check_truncations(16);
}

TEST_CASE("A cache with damaged pages is set aside once, and a new one starts") {
  check_damaged_pages(16);
}

TEST_CASE("A cache cut off at any of 200 lengths is set aside once", "[slow]") {
  check_truncations(200);
}

TEST_CASE("A cache with any damaged pages is set aside once, 200 times", "[slow]") {
  check_damaged_pages(200);
}

TEST_CASE("After a change to any byte of the header, two starts lead to a sound cache") {
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 20; ++round) {
    std::string bytes = whole_cache();
    const std::size_t at = random() % 68;
    bytes[at] = static_cast<char>(random());
    INFO("seed " << test_seed() << ", byte " << at << " of the header is " << int{bytes[at]});
    if (at < 60 || at >= 64 || static_cast<unsigned char>(bytes[60]) >= 0x80) {
      check_two_starts(bytes);
    }
  }
  std::string bytes = whole_cache();
  std::fill_n(bytes.begin(), 60, '\xff');
  check_is_set_aside(bytes);
}

TEST_CASE("An impossible version is damage") {
  const int version = GENERATE(-1, 0, -2147483647 - 1);
  std::string bytes = whole_cache();
  for (std::size_t byte = 0; byte < 4; ++byte) {
    bytes[60 + byte] = static_cast<char>(static_cast<unsigned>(version) >> (24 - 8 * byte));
  }
  INFO("version " << version);
  check_is_set_aside(bytes);
}

// The bytes of a cache in whose table of tables and views SQL has changed something.
std::string cache_with_changed_schema(const std::string& change) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "cache.db";
  std::ofstream(path, std::ios::binary) << whole_cache();
  {
    auto connection = connect(path);
    sqlite3_db_config(connection.handle(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
    connection.execute("PRAGMA writable_schema = ON");
    connection.execute(change);
  }
  std::string bytes = read_file(path);
  REQUIRE(bytes != whole_cache());
  return bytes;
}

TEST_CASE("Missing tables and views are damage") {
  const std::string name = GENERATE("trial", "request", "lease", "meta", "best", "winner_v1");
  INFO(name);
  check_is_set_aside(
      cache_with_changed_schema("DELETE FROM sqlite_schema WHERE name = '" + name + "'"));
}

// Renames a column in the text of a view, as a few damaged bytes can.
std::string cache_with_renamed_column(const std::string& view, const std::string& column) {
  return cache_with_changed_schema("UPDATE sqlite_schema SET sql = replace(sql, 'AS " + column +
                                   "', 'AS renamed') WHERE name = '" + view + "'");
}

TEST_CASE("A view for programs without one of its columns is damage") {
  check_is_set_aside(cache_with_renamed_column("winner_v1", "device_name"));
}

TEST_CASE("The views for people may be those of another build") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "cache.db";
  const std::string bytes =
      GENERATE(cache_with_renamed_column("missing", "nearest_tuned_m"),
               cache_with_renamed_column("best", "candidates"),
               cache_with_changed_schema("DELETE FROM sqlite_schema WHERE name = 'help'"));
  std::ofstream(path, std::ios::binary) << bytes;
  auto options = sample::options(path);
  options.examination = StoreOptions::Examination::kWhole;
  const auto examined = Store::open(options);
  CHECK(examined->health().warnings.empty());
  CHECK(winners_in(*examined) == all_winners());
}

TEST_CASE("Code that would run when the cache is read or written is damage") {
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
  check_is_set_aside(read_file(path));
}

TEST_CASE("Only one copy is kept aside, however often a cache is damaged") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "cache.db";
  for (int round = 1; round <= 4; ++round) {
    std::string damaged = whole_cache();
    damaged.resize(damaged.size() - static_cast<std::size_t>(round) * kPage);
    std::ofstream(path, std::ios::binary) << damaged;
    const Start start(path);
    INFO(start.warnings);
    CHECK(start.warnings.find("was damaged") != std::string::npos);
    CHECK(count_aside(folder.path()) == 1);
    CHECK(read_file(path.string() + ".corrupt") == damaged);
  }
}

TEST_CASE("A sound cache is not set aside, however it is examined") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "cache.db";
  std::ofstream(path, std::ios::binary) << whole_cache();
  auto options = sample::options(path);
  options.examination = StoreOptions::Examination::kWhole;
  const auto store = Store::open(options);
  CHECK(store->health().warnings.empty());
  CHECK(winners_in(*store) == all_winners());
  CHECK(count_looked_up(*store, all_winners()) == kWinners);
  CHECK(count_aside(folder.path()) == 0);
}
