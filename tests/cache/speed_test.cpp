// The time that a call waits for the store, for several sizes of the file. The bounds are two to
// three times the promised figures, since the machine may be busy. The test prints the measured
// figures.

#include <malloc.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "cache/sqlite/sqlite.h"
#include "tests/cache/support/large_store.h"
#include "tests/cache/support/sample.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

using namespace tunedgemm::internal;
namespace fs = std::filesystem;

namespace {

template <class Body>
double milliseconds(Body&& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
  return spent.count();
}

// The shortest of a few runs, which is the cost when nothing else runs.
template <class Body>
double least_milliseconds(int times, Body&& body) {
  double least = std::numeric_limits<double>::infinity();
  for (int time = 0; time < times; ++time) {
    least = std::min(least, milliseconds(body));
  }
  return least;
}

void report(const std::string& what, double figure, const char* unit) {
  std::cout << "  " << what << ": " << figure << ' ' << unit << '\n';
}

bool has(const Store& store, int number) {
  return store
      .find({large_store::problem(number), sample::device(), sample::toolchain()}, sample::limits())
      .has_value();
}

double heap_megabytes() {
  return static_cast<double>(mallinfo2().uordblks) / (1 << 20);
}

struct Cost {
  double first_call_ms = 0;  // including opening the store
  double next_call_ms = 0;   // for another problem
  double megabytes = 0;
  double distant_ms = 0;  // the distant neighbours of a problem without near ones
  double tuning_ms = 0;   // the store's part of a tuning
  double state_ms = 0;    // of Store::state()
};

// Precondition: the file has winners for the problems 0 and 1.
Cost cost_of(const fs::path& path) {
  constexpr int kTimes = 10;
  const auto options = sample::options(path);
  Cost cost;
  cost.first_call_ms = least_milliseconds(kTimes, [&] { CHECK(has(*Store::open(options), 0)); });
  const double before = heap_megabytes();
  const auto store = Store::open(options);
  CHECK(has(*store, 0));
  cost.megabytes = heap_megabytes() - before;
  cost.next_call_ms = milliseconds([&] { CHECK(has(*store, 1)); });
  const CanonicalProblem alone =
      sample::changed(large_store::problem(1), [](Problem& problem) { problem.k = 1; });
  cost.distant_ms = least_milliseconds(kTimes, [&] {
    CHECK(store->neighbours(alone, sample::device(), 32).empty());
    CHECK_FALSE(store->distant_neighbours(alone, sample::device(), 32).empty());
  });
  std::int64_t m = 1'000'000;
  cost.tuning_ms = least_milliseconds(kTimes, [&] {
    const Record record = sample::record(++m);
    const Lease lease = store->acquire({record.problem, record.device, record.toolchain}, 0);
    store->neighbours(record.problem, record.device, 16);
    CHECK(store->put(record, sample::source(m), sample::binary(50000), {sample::trial(64, 13)})
              .stored);
  });
  cost.state_ms =
      least_milliseconds(kTimes, [&] { CHECK(store->state() == StoreState::kReadWrite); });
  return cost;
}

// The result file of one machine of many: 200 winners, each with a kernel of 8 KB and ten trials.
constexpr int kWinnersOfAFile = 200, kTrialsOfAWinner = 10;

void fill_result_file(const fs::path& path) {
  const auto store = Store::open(sample::options(path));
  for (int m = 0; m < kWinnersOfAFile; ++m) {
    Record record = sample::record(m);
    record.measurement.samples_us.assign(20, 12.5F);
    std::vector<TrialRecord> trials;
    for (int stages = 0; stages < kTrialsOfAWinner; ++stages) {
      trials.push_back(sample::trial(128, 12.5 + stages));
      trials.back().config.set("stages", stages);
      trials.back().measurement->samples_us.assign(20, 12.5F);
    }
    CHECK(store->put(record, sample::source(m), sample::binary(8192, m), trials).stored);
  }
}

// Gives the problems and kernels of the file other keys.
void make_next(const fs::path& path, unsigned number) {
  auto file = sqlite::Connection::open(path, sqlite::Connection::Mode::kReadWrite, 1000);
  const std::string prefix = "printf('%08x', " + std::to_string(number * 2654435761U) + ")";
  file.execute("UPDATE problem SET m = m + 200, fingerprint = " + prefix +
               " || substr(fingerprint, 9); UPDATE kernel SET source = " + prefix +
               " || substr(source, 9)");
}

void report(const std::string& file, const Cost& cost) {
  report(file + ", open it and find a winner", cost.first_call_ms, "ms");
  report(file + ", find another one", cost.next_call_ms, "ms");
  report(file + ", memory for both", cost.megabytes, "MB");
  report(file + ", find kernels where no winner is near", cost.distant_ms, "ms");
  report(file + ", store a tuning", cost.tuning_ms, "ms");
  report(file + ", know the state", cost.state_ms, "ms");
}

}  // namespace

TEST_CASE("A first call costs the same with fifty thousand winners and a million trials",
          "[slow]") {
  const TemporaryFolder folder;
  const fs::path small = folder.path() / "small.db", large = folder.path() / "large.db";
  for (const auto& [path, winners] : {std::pair(small, 2), std::pair(large, 50'000)}) {
    Store::open(sample::options(path));
    large_store::fill(path, winners);
  }
  auto file = sqlite::Connection::open(large, sqlite::Connection::Mode::kReadOnly, 1000);
  CHECK(file.integer("SELECT count(*) FROM winner") == 50'000);
  CHECK(file.integer("SELECT count(*) FROM trial") == 1'000'000);

  const Cost with_two = cost_of(small), with_many = cost_of(large);
  report("2 winners", with_two);
  report("50000 winners", with_many);
  CHECK(with_many.first_call_ms < with_two.first_call_ms + 10);
  CHECK(with_many.next_call_ms < 1);
  CHECK(with_many.distant_ms < 20);
  CHECK(with_many.megabytes < with_two.megabytes + 2);
  CHECK(with_many.tuning_ms < 3 * with_two.tuning_ms + 20);
  CHECK(with_many.state_ms < 0.1);
}

TEST_CASE("Every view is quick with fifty thousand winners and a million trials", "[slow]") {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  Store::open(options);
  large_store::fill(options.path, 50'000);
  auto file = sqlite::Connection::open(options.path, sqlite::Connection::Mode::kReadOnly, 1000);
  const auto run = [&](const std::string& query) {
    const double spent = least_milliseconds(2, [&] { sqlite::Statement(file, query).run(); });
    report(query, spent, "ms");
    return spent;
  };
  CHECK(run("SELECT * FROM best") < 1500);
  for (const std::string view : {"trials", "failures", "missing", "stale", "coverage"}) {
    CHECK(run("SELECT count(*) FROM " + view) < 2500);
  }
  CHECK(run("SELECT * FROM trials LIMIT 10") < 2500);
  CHECK(run("SELECT * FROM trials WHERE m = 17 AND n = 512 AND k = 512 ORDER BY median_us") < 2500);
  const auto store = Store::open(options);
  const double all = least_milliseconds(2, [&] { CHECK(store->winners().size() == 50'000); });
  report("read all winners", all, "ms");
  CHECK(all < 3000);
}

TEST_CASE("The time to merge a file does not grow with the number of files merged before",
          "[slow]") {
  constexpr int kFiles = 100;
  const TemporaryFolder folder;
  const fs::path from = folder.path() / "from.db";
  fill_result_file(from);
  const auto store = Store::open(sample::options(folder.path() / "cache.db"));
  std::vector<double> spent;
  const double before = heap_megabytes();
  for (unsigned number = 0; number < kFiles; ++number) {
    make_next(from, number);
    spent.push_back(milliseconds([&] {
      const MergeResult result = store->merge(from);
      CHECK(result.failure == "");
      CHECK(result.winners == kWinnersOfAFile);
      CHECK(result.trials == kWinnersOfAFile * kTrialsOfAWinner);
      CHECK(result.binaries == kWinnersOfAFile);
    }));
  }
  const double first = *std::min_element(spent.begin(), spent.begin() + kFiles / 4);
  const double last = *std::min_element(spent.end() - kFiles / 4, spent.end());
  const double all = std::accumulate(spent.begin(), spent.end(), 0.0);
  report("merge a file into a small cache", first, "ms");
  report("merge a file into the largest cache", last, "ms");
  report("merge all files", all, "ms");
  report("memory for that", heap_megabytes() - before, "MB");
  CHECK(last < 2 * first);
  CHECK(all < 100.0 * kFiles);
  CHECK(heap_megabytes() < before + 2);
  auto file = sqlite::Connection::open(store->path(), sqlite::Connection::Mode::kReadOnly, 1000);
  CHECK(file.integer("SELECT count(*) FROM winner") == kFiles * kWinnersOfAFile);
  CHECK(file.integer("SELECT count(*) FROM trial") == kFiles * kWinnersOfAFile * kTrialsOfAWinner);
}

TEST_CASE("A merge takes time in proportion to the winners of the file", "[slow]") {
  const TemporaryFolder folder;
  const fs::path from = folder.path() / "from.db";
  Store::open(sample::options(from));
  large_store::fill(from, 10'000);
  const auto store = Store::open(sample::options(folder.path() / "cache.db"));
  const double spent = milliseconds([&] { CHECK(store->merge(from).winners == 10'000); });
  report("merge ten thousand winners", spent, "ms");
  CHECK(spent < 10'000);
}
