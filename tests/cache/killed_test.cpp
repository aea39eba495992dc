// Processes are killed while they store and another process continues. Everything stored before
// must stay.

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include "cache/sqlite/sqlite.h"
#include "cache/store.h"
#include "tests/cache/support/processes.h"
#include "tests/cache/support/sample.h"
#include "tests/support/catch.h"
#include "tests/support/seed.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

using namespace tunedgemm::internal;
namespace fs = std::filesystem;

namespace {

// Stores `count` winners and reports the number of each after it has been stored.
void store_until_killed(const fs::path& path, int first, int count, const Processes::Say& say) {
  const auto store = Store::open(sample::options(path));
  for (int m = first; m < first + count; ++m) {
    const auto lease = store->acquire(sample::key(m), 5);
    const bool stored = store
                            ->put(sample::record(m), sample::source(m), sample::binary(20'000),
                                  {sample::trial(64, m)})
                            .stored;
    store->flush();
    if (stored && store->health().unsaved_winners == 0) {
      say(std::to_string(m));
    }
  }
}

void check_kills(int rounds) {
  constexpr int kOfARound = 1000;
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "cache.db";
  std::mt19937_64 random(test_seed());
  std::vector<int> stored;
  for (int round = 0; round < rounds; ++round) {
    Processes processes(2, [&](int number, const Processes::Say& say) {
      const int first = 1 + (2 * round + number) * kOfARound;
      store_until_killed(path, first, number == 0 ? kOfARound : 15, say);
      return std::string();
    });
    processes.wait_for_a_line();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 100'000));
    processes.kill(0);
    for (const std::string& line : processes.wait()) {
      stored.push_back(std::stoi(line));
    }
    for (const std::string& complaint : processes.complaints()) {
      FAIL_CHECK(complaint);
    }
  }
  const auto store = Store::open(sample::options(path));
  INFO("seed " << test_seed());
  CHECK(store->health().warnings.empty());
  int lost = 0;
  for (const int m : stored) {
    const bool found = store->find(sample::key(m), sample::limits()).has_value() &&
                       store->find_binary(sample::source(m), sample::toolchain(), 90).has_value();
    lost += found ? 0 : 1;
  }
  CHECK(stored.size() >= static_cast<std::size_t>(15 * rounds));
  CHECK(lost == 0);
  auto connection = sqlite::Connection::open(path, sqlite::Connection::Mode::kReadWrite, 1000);
  CHECK(connection.text("PRAGMA integrity_check") == "ok");
}

}  // namespace

TEST_CASE("Nothing that was stored is lost when other processes are killed") {
  check_kills(6);
}

TEST_CASE("Nothing that was stored is lost in 60 kills", "[slow]") {
  check_kills(60);
}

TEST_CASE("A reader rolls back the half-done transaction of a killed process") {
  const TemporaryFolder folder;
  auto options = sample::options(folder.path() / "cache.db");
  options.journal = GENERATE(StoreOptions::Journal::kRollback, StoreOptions::Journal::kWriteAhead);
  CHECK(
      Store::open(options)->put(sample::record(1), sample::source(1), sample::binary(), {}).stored);
  {
    Processes process(1, [&](int, const Processes::Say&) {
      auto connection =
          sqlite::Connection::open(options.path, sqlite::Connection::Mode::kReadWrite, 1000);
      // With a tiny page cache, pages reach the file before the transaction ends.
      connection.execute("PRAGMA cache_size = 1; BEGIN IMMEDIATE");
      for (int name = 0; name < 300; ++name) {
        connection.execute("INSERT INTO meta VALUES ('half done " + std::to_string(name) +
                           "', hex(zeroblob(2000)))");
      }
      kill(getpid(), SIGKILL);
      return std::string();
    });
    process.wait();
  }
  const std::string side_file =
      options.journal == StoreOptions::Journal::kRollback ? "-journal" : "-wal";
  REQUIRE(fs::exists(options.path.string() + side_file));
  options.access = StoreOptions::Access::kReadOnly;
  {
    const auto store = Store::open(options);
    CHECK(store->health().warnings.empty());
    CHECK(store->health().winners == 1);
  }
  if (std::system("sqlite3 -version > /dev/null 2>&1") != 0) {
    TUNEDGEMM_SKIP("there is no sqlite3 command");
  }
  const std::string query =
      "sqlite3 -readonly '" + options.path.string() + "' \"SELECT count(*) FROM best\" > /dev/null";
  CHECK(std::system(query.c_str()) == 0);
}
