// Many processes and threads use one file. No call may fail, nothing that was stored may be lost,
// and a killed process must leave a sound file.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "cache/sqlite/sqlite.h"
#include "cache/store.h"
#include "tests/cache/support/processes.h"
#include "tests/cache/support/sample.h"
#include "tests/support/catch.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_folder.h"

using namespace tunedgemm::internal;
namespace fs = std::filesystem;

namespace {

bool has(const Store& store, std::int64_t m) {
  return store.find(sample::key(m), sample::limits()).has_value();
}

bool put(Store& store, std::int64_t m) {
  return store
      .put(sample::record(m), sample::source(m), sample::binary(20000),
           {sample::trial(64, 13), sample::trial(128, 12.5)})
      .stored;
}

// The complaints of a store whose file other processes use too.
std::string complaint_of(const Store& store) {
  const StoreHealth health = store.health();
  std::string text =
      health.state == StoreState::kReadWrite ? "" : std::string(name(health.state)) + "\n";
  for (const std::string& warning : health.warnings) {
    text += warning + "\n";
  }
  return text;
}

void check_sound(const fs::path& path) {
  auto connection = sqlite::Connection::open(path, sqlite::Connection::Mode::kReadWrite, 1000);
  CHECK(connection.text("PRAGMA integrity_check") == "ok");
  CHECK(connection.text("PRAGMA foreign_key_check").empty());
}

// Makes the tuner's calls, but does not tune. Returns whether this process has tuned the problem.
bool tune(Store& store, std::int64_t m) {
  const auto problem = sample::problem(m);
  const Lease lease = store.acquire({problem, sample::device(), sample::toolchain()}, 60);
  if (!lease) {
    return false;
  }
  for (const int block_m : {64, 128}) {
    const TrialRecord trial = sample::trial(block_m, 12.5);
    store.mark_in_flight({problem, sample::device(), sample::toolchain()}, trial.family,
                         trial.config, trial.family_fingerprint);
    store.put_trial({problem, sample::device(), sample::toolchain()}, trial);
    store.clear_in_flight({problem, sample::device(), sample::toolchain()});
  }
  return put(store, m);
}

StoreOptions::Journal either_journal() {
  return GENERATE(StoreOptions::Journal::kRollback, StoreOptions::Journal::kWriteAhead);
}

}  // namespace

TEST_CASE("Sixteen processes start at once on a cache that does not exist") {
  constexpr int kProcesses = 16;
  const TemporaryFolder folder;
  auto options = sample::options(folder.path() / "sub" / "cache.db");
  options.journal = either_journal();
  Processes processes(kProcesses, [&](int number, const Processes::Say&) {
    const auto store = Store::open(options);
    const bool stored = put(*store, number + 1);
    return complaint_of(*store) + (stored && has(*store, number + 1) ? "" : "not stored");
  });
  processes.wait();
  CHECK(processes.complaints() == std::vector<std::string>());
  const auto store = Store::open(options);
  CHECK(store->winners().size() == kProcesses);
  check_sound(options.path);
}

TEST_CASE("Sixteen processes find a damaged file at once and one of them sets it aside") {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  {
    const auto store = Store::open(options);
    CHECK(put(*store, 100));
  }
  fs::resize_file(options.path, fs::file_size(options.path) - 4096);
  Processes processes(16, [&](int number, const Processes::Say&) {
    const auto store = Store::open(options);
    put(*store, number + 1);
    return store->health().state == StoreState::kReadWrite ? "" : complaint_of(*store);
  });
  processes.wait();
  CHECK(processes.complaints() == std::vector<std::string>());
  int aside = 0;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    aside += entry.path().filename().string().find(".corrupt") != std::string::npos ? 1 : 0;
  }
  CHECK(aside == 1);
  const auto store = Store::open(options);
  for (int m = 1; m <= 16; ++m) {
    CHECK(has(*store, m));
  }
  check_sound(options.path);
}

TEST_CASE("Eight processes tune the same shapes", "[slow]") {
  constexpr int kShapes = 40;
  const TemporaryFolder folder;
  auto options = sample::options(folder.path() / "cache.db");
  options.journal = either_journal();
  Processes processes(8, [&](int number, const Processes::Say& say) {
    const auto store = Store::open(options);
    std::vector<int> shapes(kShapes);
    std::iota(shapes.begin(), shapes.end(), 1);
    std::shuffle(shapes.begin(), shapes.end(),
                 std::mt19937_64(test_seed() + static_cast<std::uint64_t>(number)));
    for (const int m : shapes) {
      if (!tune(*store, m)) {
        return "shape " + std::to_string(m) + " was not tuned\n" + complaint_of(*store);
      }
      say("tuned");
    }
    return complaint_of(*store);
  });
  CHECK(processes.wait().size() == 8 * kShapes);
  CHECK(processes.complaints() == std::vector<std::string>());
  const auto store = Store::open(options);
  CHECK(store->winners().size() == kShapes);
  for (int m = 1; m <= kShapes; ++m) {
    CHECK(has(*store, m));
    CHECK(store->find_binary(sample::source(m), sample::toolchain(), 90));
    CHECK(store->trials(sample::key(m)).size() == 2);
  }
  auto connection =
      sqlite::Connection::open(options.path, sqlite::Connection::Mode::kReadWrite, 1000);
  CHECK(connection.integer("SELECT count(*) FROM lease") == 0);
  check_sound(options.path);
}

TEST_CASE("An acknowledged write survives a SIGKILL at any of fifty random moments", "[slow]") {
  constexpr int kKills = 50;
  constexpr int kProcesses = 3;
  const TemporaryFolder folder;
  auto options = sample::options(folder.path() / "cache.db");
  options.journal = either_journal();
  std::mt19937_64 random(test_seed());
  std::set<int> acknowledged;
  for (int round = 0; round < kKills; ++round) {
    Processes processes(kProcesses, [&](int number, const Processes::Say& say) {
      const auto store = Store::open(options);
      for (int step = 0; step < 10000; ++step) {
        const int m = 1 + number + kProcesses * (round * 10000 + step);
        if (!tune(*store, m)) {
          return "shape " + std::to_string(m) + " was not tuned\n" + complaint_of(*store);
        }
        if (const std::string complaint = complaint_of(*store); !complaint.empty()) {
          return complaint;
        }
        say(std::to_string(m));
      }
      return std::string("never killed");
    });
    // In every other round, kill the processes during their work instead of their start.
    if (round % 2 == 0) {
      processes.wait_for_a_line();
    }
    for (int number = 0; number < kProcesses; ++number) {
      std::this_thread::sleep_for(
          std::chrono::microseconds(std::uniform_int_distribution(0, 60000)(random)));
      processes.kill(number);
    }
    for (const std::string& line : processes.wait()) {
      acknowledged.insert(std::stoi(line));
    }
    CHECK(processes.complaints() == std::vector<std::string>());
    const auto store = Store::open(options);
    CHECK(complaint_of(*store).empty());
    int lost = 0;
    for (const int m : acknowledged) {
      lost += has(*store, m) ? 0 : 1;
    }
    CHECK(lost == 0);
    check_sound(options.path);
  }
  CHECK(acknowledged.size() >= kKills / 2);
}

TEST_CASE("Threads share a store") {
  const TemporaryFolder folder;
  auto options = sample::options(folder.path() / "cache.db");
  const auto store = Store::open(options);
  const auto other = Store::open(options);
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int number = 0; number < 8; ++number) {
    threads.emplace_back([&, number] {
      Store& mine = number % 2 == 0 ? *store : *other;
      for (int step = 0; step < 5; ++step) {
        const int m = 1 + number * 5 + step;
        mine.note_request(sample::problem(m), sample::device(), 1);
        failures += tune(mine, m) && has(mine, m) ? 0 : 1;
        failures += mine.find_binary(sample::source(m), sample::toolchain(), 90) ? 0 : 1;
        mine.flush();
        mine.health();
        mine.winners();
        mine.requests(sample::device());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(failures == 0);
  CHECK(complaint_of(*store).empty());
  CHECK(complaint_of(*other).empty());
  // Each thread sees what the other has stored.
  CHECK(store->winners().size() == 40);
}
