// Leases: the right to tune a problem, and the marks that a dead process leaves.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "cache/file/process_identity.h"
#include "cache/sqlite/sqlite.h"
#include "cache/store.h"
#include "tests/cache/support/sample.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

using namespace tunedgemm::internal;

namespace {

Lease acquire(Store& store, std::int64_t m, double wait_seconds = 0) {
  return store.acquire(sample::key(m), wait_seconds);
}

std::vector<TrialRecord> trials(const Store& store) {
  return store.trials(sample::key(1));
}

Config block_m(int value) {
  Config config;
  config.set("block_m", value);
  return config;
}

void mark(Store& store, int value) {
  store.mark_in_flight(sample::key(1), "sample", block_m(value), "fingerprint");
}

void clear(Store& store) {
  store.clear_in_flight(sample::key(1));
}

// Runs `body` in a process that ends as if killed.
template <class Body>
void in_process_that_dies(Body&& body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    body();
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
}

// Problem 1, leased by a store, and a connection to the same file.
struct LeasedProblem {
  TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "cache.db";
  std::unique_ptr<Store> store = Store::open(sample::options(path));
  Lease lease = acquire(*store, 1);
  sqlite::Connection connection =
      sqlite::Connection::open(path, sqlite::Connection::Mode::kReadWrite, 1000);
};

}  // namespace

TEST_CASE("Only one holder at a time has a problem's lease") {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  const auto store = Store::open(options);
  const auto other = Store::open(options);
  {
    const Lease lease = acquire(*store, 1);
    CHECK(lease);
    CHECK_FALSE(acquire(*store, 1));
    CHECK_FALSE(acquire(*other, 1));
    CHECK(acquire(*other, 2));
  }
  CHECK(acquire(*other, 1));
}

TEST_CASE("A waiting process gets the lease when it is released") {
  const TemporaryFolder folder;
  const auto store = Store::open(sample::options(folder.path() / "cache.db"));
  Lease lease = acquire(*store, 1);
  CHECK(lease);
  std::atomic<bool> got = false;
  std::thread waiting([&] { got = static_cast<bool>(acquire(*store, 1, 30)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  CHECK_FALSE(got);
  lease = Lease();
  waiting.join();
  CHECK(got);
}

TEST_CASE("A lease that outlives its store does no harm, and the store releases it") {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  auto store = Store::open(options);
  const Lease lease = acquire(*store, 1);
  store.reset();
  CHECK(acquire(*Store::open(options), 1));
}

TEST_CASE("A candidate in flight when its process died is not tried again") {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  in_process_that_dies([&] {
    const auto store = Store::open(options);
    const Lease lease = acquire(*store, 1);
    mark(*store, 64);
    clear(*store);
    mark(*store, 128);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    kill(getpid(), SIGKILL);
  });
  const auto store = Store::open(options);
  CHECK(trials(*store).empty());
  CHECK(acquire(*store, 1));
  const auto left = trials(*store);
  REQUIRE(left.size() == 1);
  CHECK(left[0].family == "sample");
  CHECK(left[0].config == block_m(128));
  CHECK(left[0].family_fingerprint == "fingerprint");
  REQUIRE(left[0].rejection);
  CHECK(left[0].rejection->reason == Reason::kCrashed);
}

TEST_CASE("A candidate in flight when its lease was released is not tried again") {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  const auto store = Store::open(options);
  {
    const Lease lease = acquire(*store, 1);
    mark(*store, 64);
    clear(*store);
  }
  CHECK(trials(*store).empty());
  {
    const Lease lease = acquire(*store, 1);
    mark(*store, 128);
  }
  const auto left = trials(*Store::open(options));
  REQUIRE(left.size() == 1);
  CHECK(left[0].config == block_m(128));
  REQUIRE(left[0].rejection);
  CHECK(left[0].rejection->reason == Reason::kCrashed);
}

TEST_CASE("A process that died with nothing in flight leaves a lease to take over") {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  in_process_that_dies([&] {
    const auto store = Store::open(options);
    const Lease lease = acquire(*store, 1);
    mark(*store, 64);
    clear(*store);
    kill(getpid(), SIGKILL);
  });
  const auto store = Store::open(options);
  CHECK(acquire(*store, 1));
  CHECK(trials(*store).empty());
}

TEST_CASE("A candidate in flight without a lease is recorded and cleared too") {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  const auto store = Store::open(options);
  mark(*store, 64);
  clear(*store);
  CHECK(acquire(*store, 1));
  in_process_that_dies([&] {
    const auto dying = Store::open(options);
    mark(*dying, 64);
    kill(getpid(), SIGKILL);
  });
  CHECK(acquire(*store, 1));
  CHECK(trials(*store).size() == 1);
}

TEST_CASE("The lease of another machine is respected for a quarter of an hour") {
  LeasedProblem leased;
  leased.connection.execute("UPDATE lease SET host = 'elsewhere'");
  CHECK_FALSE(acquire(*leased.store, 1));
  leased.connection.execute("UPDATE lease SET renewed = renewed - 1000");
  CHECK(acquire(*leased.store, 1));
}

TEST_CASE("Each candidate renews the lease") {
  LeasedProblem leased;
  leased.connection.execute("UPDATE lease SET renewed = renewed - 1000");
  mark(*leased.store, 1);
  leased.connection.execute("UPDATE lease SET host = 'elsewhere'");
  CHECK_FALSE(acquire(*leased.store, 1));
}

TEST_CASE("Stored trials renew the lease") {
  LeasedProblem leased;
  leased.connection.execute("UPDATE lease SET renewed = renewed - 1000");
  const int number = GENERATE(1, 16);  // one that is flushed; as many as share a write
  CAPTURE(number);
  for (int trial = 1; trial <= number; ++trial) {
    leased.store->put_trial(sample::key(1), sample::trial(trial, 10));
  }
  if (number == 1) {
    leased.store->flush();
  }
  leased.connection.execute("UPDATE lease SET host = 'elsewhere'");
  CHECK_FALSE(acquire(*leased.store, 1));
  CHECK(leased.store->trials(sample::key(1)).size() == static_cast<std::size_t>(number));
}

TEST_CASE("Releasing a lease that was taken over does nothing") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  const auto store = Store::open(sample::options(path));
  Lease lost = acquire(*store, 1);
  auto connection = sqlite::Connection::open(path, sqlite::Connection::Mode::kReadWrite, 1000);
  connection.execute("DELETE FROM lease");
  const Lease next = acquire(*store, 1);
  REQUIRE(next);
  lost = Lease();
  CHECK_FALSE(acquire(*store, 1));
}

TEST_CASE("A lease of another machine has ended if its time is too far ahead") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  const auto store = Store::open(sample::options(path));
  const std::string ahead = GENERATE("renewed + 1000", "renewed + 3600 * 24 * 365 * 100",
                                     "9223372036854775807", "-9223372036854775807 - 1");
  const Lease lease = acquire(*store, 1);
  auto connection = sqlite::Connection::open(path, sqlite::Connection::Mode::kReadWrite, 1000);
  connection.execute("UPDATE lease SET host = 'elsewhere'");
  CHECK_FALSE(acquire(*store, 1));
  connection.execute("UPDATE lease SET renewed = " + ahead);
  CHECK(acquire(*store, 1));
}

TEST_CASE("A process is identified by its start, its machine's boot and its machine") {
  const ProcessIdentity self = this_process();
  CHECK(liveness(self) == Liveness::kAlive);
  ProcessIdentity other = self;
  other.started += 1;
  CHECK(liveness(other) == Liveness::kDead);
  other = self;
  other.boot = "another";
  CHECK(liveness(other) == Liveness::kDead);
  other = self;
  other.host = "elsewhere";
  CHECK(liveness(other) == Liveness::kUnknown);
  other = self;
  other.pid = 1 << 30;
  CHECK(liveness(other) == Liveness::kDead);
}

TEST_CASE("A lease says whether others have stored winners since the last look-up") {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  const auto store = Store::open(options);
  const auto other = Store::open(options);
  const auto find = [&] { return store->find(sample::key(1), sample::limits()); };
  CHECK_FALSE(find());
  CHECK_FALSE(acquire(*store, 1).winners_changed());
  CHECK(other->put(sample::record(1), sample::source(), sample::binary(), {}).stored);
  const Lease lease = acquire(*store, 1);
  CHECK(lease);
  CHECK(lease.winners_changed());
  CHECK(find());
  // This store's own winners do not count as changes.
  CHECK(store->put(sample::record(2), sample::source(), sample::binary(), {}).stored);
  CHECK_FALSE(acquire(*store, 2).winners_changed());
}
