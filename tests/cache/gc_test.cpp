// Store::collect_garbage: which rows go, which stay, and the size of the file.

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "cache/sqlite/sqlite.h"
#include "cache/store.h"
#include "cache/tables/rows.h"
#include "tests/cache/support/large_store.h"
#include "tests/cache/support/sample.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

using namespace tunedgemm::internal;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

constexpr GcOptions kDryRun{.mode = GcOptions::Mode::kDryRun};

sqlite::Connection open_file(const fs::path& path) {
  return sqlite::Connection::open(path, sqlite::Connection::Mode::kReadWrite, 1000);
}

std::int64_t count(const fs::path& path, const std::string& rows) {
  return open_file(path).integer("SELECT count(*) FROM " + rows);
}

void check_whole(const fs::path& path) {
  auto connection = open_file(path);
  CHECK(connection.text("PRAGMA integrity_check") == "ok");
  CHECK(connection.text("PRAGMA foreign_key_check").empty());
}

TuningKey old_key(std::int64_t m) {
  return {sample::problem(m), sample::device(), sample::toolchain("570.10")};
}

// Stores a winner, its binary and three trials, one of them measured in the finals.
void put(Store& store, const TuningKey& key, const std::string& tuned_at = "") {
  Record record = sample::record(key.problem->m);
  record.toolchain = key.toolchain;
  record.tuned_at = tuned_at;
  TrialRecord screened = sample::trial(64, 14);
  screened.final_round = false;
  TrialRecord rejected = sample::rejected(256, Reason::kSpills);
  REQUIRE(store
              .put(record, sample::source(key.problem->m), sample::binary(300),
                   {sample::trial(128, 12.5), screened, rejected})
              .stored);
}

std::optional<Match> match(const Store& store, std::int64_t m) {
  const auto hit = store.find(sample::key(m), sample::limits());
  return hit ? std::optional(hit->match) : std::nullopt;
}

double milliseconds(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
  return spent.count();
}

struct Found {
  std::vector<std::string> winners;  // of every problem
  double first_ms = 0, warm_ms = 0;  // opening the file and finding a winner; finding it again
};

Found find_all(const StoreOptions& options, int problems) {
  const auto key = [](int number) {
    return TuningKey{large_store::problem(number), sample::device(), sample::toolchain()};
  };
  Found found;
  std::unique_ptr<Store> store;
  const auto first_call = [&] {
    store = Store::open(options);
    CHECK(store->find(key(3), sample::limits()));
  };
  found.first_ms = milliseconds(first_call);
  for (int repeated = 0; repeated < 5; ++repeated) {
    found.first_ms = std::min(found.first_ms, milliseconds(first_call));
  }
  found.warm_ms = milliseconds([&] { CHECK(store->find(key(3), sample::limits())); });
  for (int number = 0; number < problems; ++number) {
    const auto hit = store->find(key(number), sample::limits());
    found.winners.push_back(hit ? to_text(hit->record.config) + hit->record.toolchain.driver +
                                      std::to_string(hit->record.measurement.median_us)
                                : "");
  }
  return found;
}

// Deletes the garbage of a file of about 1.9 winners a problem, and reports times and sizes.
void check_large(int problems) {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  Store::open(options);
  large_store::fill(options.path, problems);
  const large_store::Garbage garbage = large_store::add_garbage(options.path, problems);
  std::cout << "  " << count(options.path, "winner") << " winners, " << count(options.path, "trial")
            << " trials\n";
  const Found before = find_all(options, problems);
  const auto store = Store::open(options);
  GcResult dry_run, result;
  const double dry_run_ms = milliseconds([&] { dry_run = store->collect_garbage(kDryRun); });
  const double spent_ms = milliseconds([&] { result = store->collect_garbage(); });
  const Found after = find_all(options, problems);
  std::cout << "  dry run " << dry_run_ms << " ms, deletion " << spent_ms << " ms; "
            << result.bytes_before << " -> " << result.bytes_after << " bytes; first call "
            << before.first_ms << " -> " << after.first_ms << " ms, warm look-up " << before.warm_ms
            << " -> " << after.warm_ms << " ms\n";
  CHECK(result.failure.empty());
  CHECK(result.void_winners == garbage.void_winners);
  CHECK(result.replaced_winners == garbage.replaced_winners);
  CHECK(result.kernels == garbage.kernels);
  CHECK(result.trials ==
        large_store::kTrialsOfAWinner * (garbage.void_winners + garbage.replaced_winners));
  CHECK(dry_run.trials == result.trials);
  CHECK(20 * result.bytes_after < 11 * result.bytes_before);
  CHECK(before.winners == after.winners);
  CHECK(count(options.path, "winner") == problems);
  check_whole(options.path);

  const std::int64_t limit = result.bytes_after * 2 / 3;
  const GcResult limited = store->collect_garbage({.max_bytes = limit});
  std::cout << "  limit " << limit << " -> " << limited.bytes_after << " bytes\n";
  CHECK(limited.bytes_after <= limit);
  CHECK(limited.bytes_after > limit * 3 / 4);
  CHECK(find_all(options, problems).winners == before.winners);
}

}  // namespace

TEST_CASE("Garbage collection halves a file of 2000 winners, and every winner is found as before") {
  check_large(1053);
}

TEST_CASE("Garbage collection halves a file of 50000 winners", "[slow]") {
  check_large(26'316);
}

TEST_CASE("A winner of an old toolchain goes only where the current one has a usable winner") {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  const auto store = Store::open(options);
  put(*store, old_key(1));
  put(*store, old_key(2));
  put(*store, old_key(3));
  put(*store, sample::key(2));
  put(*store, sample::key(3));
  open_file(options.path)
      .execute("UPDATE winner SET family_fingerprint = 'old' WHERE problem = 3 AND id > 3");
  const GcResult result = store->collect_garbage();
  CHECK(result.failure.empty());
  CHECK(result.replaced_winners == 1);  // of M = 2
  CHECK(result.void_winners == 1);      // the current one of M = 3
  CHECK(match(*store, 1) == Match::kStale);
  CHECK(match(*store, 2) == Match::kExact);
  CHECK(match(*store, 3) == Match::kStale);
  CHECK(store->trials(old_key(1)).size() == 3);
  CHECK(store->trials(old_key(2)).empty());
  CHECK(store->trials(sample::key(2)).size() == 3);
  check_whole(options.path);
  CHECK(store->collect_garbage().trials == 0);
}

TEST_CASE("A void winner stays while a call may renew it, without its trials") {
  const TemporaryFolder folder;
  auto options = sample::options(folder.path() / "cache.db");
  put(*Store::open(options), sample::key(1));
  put(*Store::open(options), sample::key(2));
  open_file(options.path).execute("UPDATE winner SET kernel = NULL WHERE problem = 2");
  options.find_family = sample::find_old;
  const auto store = Store::open(options);
  const GcResult result = store->collect_garbage();
  CHECK(result.void_winners == 1);
  CHECK(result.trials == 6);
  CHECK(result.kernels == 0);  // its compiler is in use
  CHECK(store->find_outdated(sample::key(1), sample::limits()));
  CHECK(store->winners(sample::problem(2), sample::device()).empty());
  CHECK(count(options.path, "problem") == 1);
  check_whole(options.path);

  // After another compiler has been used on the device, it cannot be renewed.
  Record other = sample::record(5);
  other.toolchain.compiler = "nvrtc 13.1";
  other.family_fingerprint = sample::family(1).fingerprint();
  CHECK(store->put(other, sample::source(5), sample::binary(), {}).stored);
  const GcResult later = store->collect_garbage();
  CHECK(later.void_winners == 1);
  CHECK(later.kernels == 2);
  CHECK(count(options.path, "kernel") == 1);
  CHECK(count(options.path, "toolchain") == 1);
}

TEST_CASE("Unfinished tunings, leases and requests of missing problems survive") {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  const auto other = Store::open(options);
  const auto store = Store::open(options);
  put(*store, old_key(1));
  put(*store, sample::key(1));
  put(*store, old_key(2));
  put(*store, sample::key(2));
  store->put_trial(sample::key(3), sample::trial(64, 20));
  store->put_trial(old_key(3), sample::trial(64, 20));
  store->put_binary(sample::source(9), sample::toolchain(), 90, sample::binary(500));
  store->note_request(sample::problem(4), sample::device(), 7);
  store->note_request(sample::problem(2), sample::device(), 0);
  store->flush();
  const Lease lease = other->acquire(old_key(2), 0);
  REQUIRE(lease);
  other->mark_in_flight(old_key(2), "sample", sample::trial(256, 1).config, "another");
  const GcResult result = store->collect_garbage({.max_bytes = 1});
  CHECK(result.replaced_winners == 1);
  CHECK(store->trials(sample::key(3)).size() == 1);
  CHECK(store->trials(old_key(3)).empty());
  CHECK(store->winners(sample::problem(1), sample::device()).size() == 1);
  CHECK(store->winners(sample::problem(2), sample::device()).size() == 2);
  CHECK(store->trials(old_key(2)).size() == 3);
  REQUIRE(store->requests(sample::device()).size() == 1);
  CHECK(store->requests(sample::device()).front().calls == 7);
  CHECK(count(options.path, "request") == 1);
  CHECK(count(options.path, "lease WHERE in_flight IS NOT NULL") == 1);
  check_whole(options.path);
}

TEST_CASE("The lease of a process that was killed ends, and its candidate in flight has crashed") {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  const auto other = Store::open(options);
  const Lease lease = other->acquire(old_key(1), 0);
  other->put_trial(old_key(1), sample::trial(64, 20));
  other->mark_in_flight(old_key(1), "sample", sample::trial(256, 1).config,
                        sample::trial(256, 1).family_fingerprint);
  const auto store = Store::open(options);
  put(*store, sample::key(2));
  REQUIRE(count(options.path, "lease WHERE in_flight IS NOT NULL") == 1);
  open_file(options.path).execute("UPDATE lease SET pid_started = pid_started + 1");
  store->collect_garbage({.mode = GcOptions::Mode::kDryRun});
  CHECK(count(options.path, "lease") == 1);
  store->collect_garbage();
  CHECK(count(options.path, "lease") == 0);
  // No tuning reads the trials of an old toolchain without a winner.
  CHECK(store->trials(old_key(1)).empty());

  const Lease current = other->acquire(sample::key(3), 0);
  other->mark_in_flight(sample::key(3), "sample", sample::trial(256, 1).config,
                        sample::trial(256, 1).family_fingerprint);
  open_file(options.path).execute("UPDATE lease SET pid_started = pid_started + 1");
  store->collect_garbage();
  REQUIRE(store->trials(sample::key(3)).size() == 1);
  CHECK(store->trials(sample::key(3)).front().rejection->reason == Reason::kCrashed);
}

TEST_CASE("A size limit deletes the oldest trials first, the finals' last, and never a crash") {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  const auto store = Store::open(options);
  put(*store, sample::key(1), "2026-01-01 10:00:00");
  put(*store, sample::key(2), "2025-01-01 10:00:00");
  store->put_trial(sample::key(2), sample::rejected(512, Reason::kCrashed));
  store->put_binary(sample::source(9), sample::toolchain(), 90, sample::binary(500));
  const std::int64_t used = store->collect_garbage().bytes_after;
  // A page is free only after many rows, so the limits count in bytes of rows.
  const auto left = [&](std::int64_t m) { return store->trials(sample::key(m)).size(); };
  store->collect_garbage({.max_bytes = used - 1});
  CHECK(left(1) == 3);
  CHECK(left(2) == 3);
  store->collect_garbage({.max_bytes = used - 300});
  CHECK(left(1) == 1);
  CHECK(left(2) == 2);
  CHECK(count(options.path, "kernel") == 3);
  CHECK(count(options.path, "trial WHERE final_round") == 2);
  store->collect_garbage({.max_bytes = 1});
  CHECK(left(1) == 0);
  REQUIRE(left(2) == 1);
  CHECK(store->trials(sample::key(2)).front().rejection->reason == Reason::kCrashed);
  CHECK(count(options.path, "kernel") == 2);
  CHECK(match(*store, 1) == Match::kExact);
  CHECK(match(*store, 2) == Match::kExact);
}

TEST_CASE("A dry run of the garbage collection changes nothing") {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  const auto store = Store::open(options);
  put(*store, old_key(1));
  put(*store, sample::key(1));
  const GcResult dry_run = store->collect_garbage(kDryRun);
  CHECK(dry_run.replaced_winners == 1);
  CHECK(dry_run.trials == 3);
  CHECK(count(options.path, "winner") == 2);
  CHECK(count(options.path, "trial") == 6);
  CHECK(store->winners(sample::problem(1), sample::device()).size() == 2);
}

TEST_CASE("Garbage collection shrinks a file with a write-ahead log, and other stores notice it") {
  const TemporaryFolder folder;
  auto options = sample::options(folder.path() / "cache.db");
  options.journal = StoreOptions::Journal::kWriteAhead;
  const auto store = Store::open(options), other = Store::open(options);
  for (int m = 1; m <= 200; ++m) {
    put(*store, old_key(m));
    put(*store, sample::key(m));
  }
  CHECK(other->find(old_key(7), sample::limits())->match == Match::kExact);
  const GcResult result = store->collect_garbage();
  CHECK(result.replaced_winners == 200);
  CHECK(10 * result.bytes_after < 8 * result.bytes_before);
  CHECK(result.bytes_after == static_cast<std::int64_t>(fs::file_size(options.path)));
  CHECK(fs::file_size(options.path.string() + "-wal") == 0);
  CHECK(other->winners(sample::problem(7), sample::device()).size() == 1);
  CHECK(other->find(old_key(7), sample::limits())->match == Match::kStale);
  put(*other, old_key(7));
  check_whole(options.path);
}

TEST_CASE("Garbage collection of a busy or read-only file deletes nothing and says why") {
  const TemporaryFolder folder;
  auto options = sample::options(folder.path() / "cache.db");
  options.busy_timeout_ms = 50;
  const auto store = Store::open(options);
  put(*store, old_key(1));
  put(*store, sample::key(1));
  {
    auto busy = open_file(options.path);
    const sqlite::Transaction transaction(busy);
    CHECK_THAT(store->collect_garbage().failure, ContainsSubstring("is unchanged"));
  }
  {
    auto reader = open_file(options.path);
    sqlite::Statement rows(reader, "SELECT * FROM winner");
    REQUIRE(rows.step());
    CHECK_THAT(store->collect_garbage().failure, ContainsSubstring("locked"));
  }
  CHECK(count(options.path, "winner") == 2);
  options.access = StoreOptions::Access::kReadOnly;
  CHECK_THAT(Store::open(options)->collect_garbage().failure,
             ContainsSubstring("cannot be written"));
  CHECK(store->collect_garbage().replaced_winners == 1);
}
