// How long a call waits for the store. The bounds are generous, since the machine may be busy; the
// figures are printed.

#include <chrono>
#include <ctime>
#include <iostream>

#include "cache/sqlite/schema.h"
#include "cache/tables/dimension_rows.h"
#include "cache/tables/winner_rows.h"
#include "tests/cache/support/sample.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

using namespace tunedgemm;

namespace {

// Of the clock on the wall, and of this process alone.
struct Spent {
  double wall_ms = 0, processor_ms = 0;
};

template <class Body>
Spent measure(Body&& body) {
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t processor_begin = std::clock();
  body();
  const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - begin;
  return {wall.count(), 1e3 * static_cast<double>(std::clock() - processor_begin) / CLOCKS_PER_SEC};
}

void report(const char* what, const Spent& spent) {
  std::cout << "  " << what << ": " << spent.wall_ms << " ms, of which the processor worked "
            << spent.processor_ms << " ms\n";
}

}  // namespace

TEST_CASE("Opening, loading ten thousand winners and finding one take little time", "[slow]") {
  constexpr int kWinners = 10000;
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  const Spent create = measure([&] { Store::open(options); });
  {
    auto connection =
        sqlite::Connection::open(options.path, sqlite::Connection::Mode::kReadWrite, 1000);
    sqlite::Transaction transaction(connection);
    Record record = sample::record(1);
    record.tuned_at = utc_now();
    record.measurement.samples_us.assign(20, 12.5F);
    for (int m = 1; m <= kWinners; ++m) {
      record.problem = sample::problem(m);
      put_winner(connection, record, std::nullopt, [](auto, auto) { return true; });
    }
    transaction.commit();
  }
  std::unique_ptr<Store> store;
  const Spent open = measure([&] { store = Store::open(options); });
  const auto find = [&](int m) {
    return store->find(sample::problem(m), sample::device(), sample::toolchain(), sample::limits());
  };
  const Spent load = measure([&] { CHECK(find(1)); });
  int found = 0;
  const Spent all = measure([&] {
    for (int m = 1; m <= kWinners; ++m) {
      found += find(m) ? 1 : 0;
    }
  });
  CHECK(found == kWinners);
  const Spent put =
      measure([&] { store->put(sample::record(7), sample::source(), sample::binary(50000), {}); });
  report("create a file", create);
  report("open a file", open);
  report("load 10000 winners and find one", load);
  report("find 10000 winners", all);
  report("store one", put);
  CHECK(open.wall_ms < 100);
  CHECK(load.wall_ms < 2000);
  CHECK(all.wall_ms / kWinners < 1);
}
