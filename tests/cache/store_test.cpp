// The contents of a store, and its answers.

#include "cache/store.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <random>

#include "cache/sqlite/sqlite.h"
#include "cache/tables/rows.h"
#include "tests/cache/support/sample.h"
#include "tests/support/catch.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_folder.h"

using namespace tunedgemm::internal;

namespace {

void put(Store& store, const Record& record) {
  CHECK(store.put(record, sample::source(), sample::binary(), {}).stored);
}

std::optional<Hit> find(const Store& store, std::int64_t m,
                        const Toolchain& toolchain = sample::toolchain()) {
  return store.find({sample::problem(m), sample::device(), toolchain}, sample::limits());
}

}  // namespace

TEST_CASE("Store returns every field of a record, now and after it was reopened") {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "sub" / "cache.db");
  Record record = sample::record(512);
  record.tuned_at = "2026-11-21 10:32:05";
  const auto check = [&](const Store& store) {
    const auto hit = find(store, 512);
    REQUIRE(hit);
    CHECK(hit->match == Match::kExact);
    const Record& found = hit->record;
    CHECK(found.problem == record.problem);
    CHECK(found.device == record.device);
    CHECK(found.toolchain == record.toolchain);
    CHECK(found.family == record.family);
    CHECK(found.config == record.config);
    CHECK(found.family_fingerprint == record.family_fingerprint);
    CHECK(found.measurement == record.measurement);
    CHECK(found.default_us == record.default_us);
    CHECK(found.naive_us == record.naive_us);
    CHECK(found.runner_up_us == record.runner_up_us);
    CHECK(found.ties == record.ties);
    CHECK(found.rigor == record.rigor);
    CHECK(found.candidates_tried == record.candidates_tried);
    CHECK(found.candidates_legal == record.candidates_legal);
    CHECK(found.complete == record.complete);
    CHECK(found.spent_seconds == record.spent_seconds);
    CHECK(found.compile_seconds == record.compile_seconds);
    CHECK(found.check_seconds == record.check_seconds);
    CHECK(found.screen_seconds == record.screen_seconds);
    CHECK(found.finals_seconds == record.finals_seconds);
    CHECK(found.max_error == record.max_error);
    CHECK(found.tuned_at == record.tuned_at);
    CHECK(found.vendor_us == record.vendor_us);
    CHECK(found.vendor == record.vendor);
  };
  {
    const auto store = Store::open(options);
    CHECK(store->health().state == StoreState::kReadWrite);
    CHECK(store->health().warnings.empty());
    CHECK_FALSE(find(*store, 512));
    put(*store, record);
    check(*store);
  }
  const auto store = Store::open(options);
  check(*store);
  CHECK(store->winners().size() == 1);
  CHECK(store->health().winners == 1);
  CHECK(store->health().file_bytes > 0);
}

TEST_CASE("Store makes its folder and file for this user alone") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "sub" / "cache.db";
  const auto store = Store::open(sample::options(path));
  using std::filesystem::perms;
  CHECK(std::filesystem::status(path.parent_path()).permissions() == perms::owner_all);
  CHECK(std::filesystem::status(path).permissions() == (perms::owner_read | perms::owner_write));
}

TEST_CASE("Store finds the canonical form of a problem") {
  const TemporaryFolder folder;
  const auto store = Store::open(sample::options(folder.path() / "cache.db"));
  Problem transposed = sample::problem(64);
  std::swap(transposed.m, transposed.n);
  std::swap(transposed.a, transposed.b);
  for (Matrix* matrix : {&transposed.a, &transposed.b, &transposed.c, &transposed.d}) {
    matrix->order = matrix->order == Order::kRowMajor ? Order::kColumnMajor : Order::kRowMajor;
  }
  REQUIRE(canonical(transposed) == sample::problem(64));
  Record record = sample::record(64);
  record.problem = canonical(transposed);
  put(*store, record);
  CHECK(find(*store, 64));
  CHECK(store->find({canonical(transposed), sample::device(), sample::toolchain()},
                    sample::limits()));
}

TEST_CASE("Store distinguishes problems, devices and layouts of the same size") {
  const TemporaryFolder folder;
  const auto store = Store::open(sample::options(folder.path() / "cache.db"));
  put(*store, sample::record(64));
  DeviceIdentity slower = sample::device();
  slower.power_limit_watts = 350;
  CHECK_FALSE(store->find({sample::problem(64), slower, sample::toolchain()}, sample::limits()));
  Problem strided = sample::problem(64);
  strided.a.leading_dimension += 8;
  CHECK_FALSE(
      store->find({canonical(strided), sample::device(), sample::toolchain()}, sample::limits()));
  Problem unaligned = sample::problem(64);
  unaligned.d.alignment_bytes = 2;
  CHECK_FALSE(
      store->find({canonical(unaligned), sample::device(), sample::toolchain()}, sample::limits()));
}

TEST_CASE("A winner of another toolchain is stale, and the newest of several is returned") {
  const TemporaryFolder folder;
  const auto store = Store::open(sample::options(folder.path() / "cache.db"));
  Record old = sample::record(64, 10);
  old.toolchain = sample::toolchain("570");
  old.tuned_at = "2026-01-02 00:00:00";
  Record older = sample::record(64, 11);
  older.toolchain = sample::toolchain("560");
  older.tuned_at = "2026-01-01 00:00:00";
  put(*store, old);
  put(*store, older);
  const auto stale = find(*store, 64);
  REQUIRE(stale);
  CHECK(stale->match == Match::kStale);
  CHECK(stale->record.toolchain == old.toolchain);

  Record exact = sample::record(64, 12);
  exact.tuned_at = "2025-01-01 00:00:00";
  put(*store, exact);
  const auto hit = find(*store, 64);
  REQUIRE(hit);
  CHECK(hit->match == Match::kExact);
  CHECK(hit->record.measurement.median_us == 12);
}

TEST_CASE("A winner is void if its template has changed, is unknown, or may not run here") {
  const TemporaryFolder folder;
  auto options = sample::options(folder.path() / "cache.db");
  {
    const auto store = Store::open(options);
    put(*store, sample::record(64));
    Record foreign = sample::record(128);
    foreign.family = "no_such_family";
    put(*store, foreign);
    Record illegal = sample::record(256);
    illegal.config.set("block_m", 99);
    put(*store, illegal);
    CHECK(find(*store, 64));
    CHECK_FALSE(find(*store, 128));
    CHECK_FALSE(find(*store, 256));
    DeviceLimits small = sample::limits();
    small.max_threads_per_block = 128;
    CHECK_FALSE(store->find(sample::key(64), small));
    CHECK(store->winners().size() == 3);
  }
  options.find_family = sample::find_old;
  const auto store = Store::open(options);
  CHECK_FALSE(find(*store, 64));
  // A less thorough tuning replaces a void winner.
  Record fresh = sample::record(64, 9, Rigor::kQuick);
  fresh.family_fingerprint = sample::family(1).fingerprint();
  put(*store, fresh);
  CHECK(find(*store, 64));
}

TEST_CASE("Store keeps the winner of the more thorough tuning") {
  const TemporaryFolder folder;
  const auto store = Store::open(sample::options(folder.path() / "cache.db"));
  const auto offer = [&](Record record) {
    return store->put(record, sample::source(), sample::binary(), {}).stored;
  };
  CHECK(offer(sample::record(64, 10, Rigor::kNormal)));
  CHECK_FALSE(offer(sample::record(64, 5, Rigor::kQuick)));
  CHECK(find(*store, 64)->record.measurement.median_us == 10);

  Record incomplete = sample::record(64, 5, Rigor::kNormal);
  incomplete.complete = false;
  CHECK_FALSE(offer(incomplete));
  CHECK(offer(sample::record(64, 11, Rigor::kNormal)));
  Record begun = sample::record(64, 4, Rigor::kExhaustive);
  begun.complete = false;
  begun.candidates_tried = 1;
  CHECK_FALSE(offer(begun));
  CHECK(offer(sample::record(64, 12, Rigor::kExhaustive)));
  CHECK(find(*store, 64)->record.measurement.median_us == 12);
  // Winners of another toolchain do not count.
  Record other = sample::record(64, 13, Rigor::kQuick);
  other.toolchain = sample::toolchain("999");
  CHECK(offer(other));
}

TEST_CASE("An unfinished tuning of greater rigor counts for as many candidates as it has tried") {
  const TemporaryFolder folder;
  const auto store = Store::open(sample::options(folder.path() / "cache.db"));
  Record begun = sample::record(64, 10, Rigor::kExhaustive);
  begun.complete = false;
  Record lesser = sample::record(64, 5, Rigor::kNormal);
  const auto offer = [&](const Record& record) {
    return store->put(record, sample::source(), sample::binary(), {}).stored;
  };
  CHECK(offer(begun));
  lesser.candidates_tried = begun.candidates_tried - 1;
  CHECK_FALSE(offer(lesser));
  lesser.candidates_tried = begun.candidates_tried;
  CHECK_FALSE(offer(lesser));
  lesser.candidates_tried = begun.candidates_tried + 1;
  CHECK(offer(lesser));
}

TEST_CASE("A put returns the winner that is stored after it") {
  const TemporaryFolder folder;
  const auto store = Store::open(sample::options(folder.path() / "cache.db"));
  const PutResult first =
      store->put(sample::record(64, 10), sample::source(), sample::binary(), {});
  CHECK(first.stored);
  CHECK(first.winner.measurement.median_us == 10);
  CHECK(first.winner.tuned_at == find(*store, 64)->record.tuned_at);
  const PutResult second =
      store->put(sample::record(64, 5, Rigor::kQuick), sample::source(), sample::binary(), {});
  CHECK_FALSE(second.stored);
  CHECK(second.winner.measurement.median_us == 10);
  CHECK(second.winner.rigor == Rigor::kNormal);
  CHECK(second.winner.tuned_at == first.winner.tuned_at);
}

TEST_CASE("A look-up that misses sees what another store has just put") {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  const auto store = Store::open(options);
  const auto other = Store::open(options);
  for (const int m : {64, 128, 256}) {
    CHECK_FALSE(find(*store, m));
    put(*other, sample::record(m));
    CHECK(find(*store, m));
  }
  CHECK(store->lookups() == 6);
  CHECK(other->lookups() == 0);
  CHECK(store->winners().size() == 3);
}

TEST_CASE("Cached winners are dropped when another store has renewed or deleted them") {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  const auto store = Store::open(options);
  const auto other = Store::open(options);
  const auto median_us = [&] {
    const auto hit = find(*store, 64);
    return hit ? hit->record.measurement.median_us : 0;
  };
  put(*other, sample::record(64, 12));
  CHECK(median_us() == 12);
  put(*other, sample::record(64, 9, Rigor::kExhaustive));
  CHECK(store->acquire(sample::key(1), 0).winners_changed());
  CHECK(median_us() == 9);
  CHECK(other->forget({sample::key(64)}).winners == 1);
  CHECK_FALSE(find(*store, 128));
  CHECK(median_us() == 0);
}

TEST_CASE("A complete tuning that may replace any winner replaces a more rigorous one") {
  const TemporaryFolder folder;
  const auto store = Store::open(sample::options(folder.path() / "cache.db"));
  put(*store, sample::record(64, 10, Rigor::kExhaustive));
  const auto put_again = [&](const Record& record, Replace replace) {
    return store->put(record, sample::source(), sample::binary(), {}, replace).stored;
  };
  const Record quick = sample::record(64, 12, Rigor::kQuick);
  CHECK_FALSE(put_again(quick, Replace::kLessThorough));
  Record unfinished = quick;
  unfinished.complete = false;
  CHECK_FALSE(put_again(unfinished, Replace::kAnyIfComplete));
  CHECK(find(*store, 64)->record.measurement.median_us == 10);
  CHECK(put_again(quick, Replace::kAnyIfComplete));
  CHECK(find(*store, 64)->record.measurement.median_us == 12);
  CHECK(store->winners().size() == 1);
}

TEST_CASE("A comparison is found with its winner until the problem is tuned again") {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  const auto store = Store::open(options);
  Record old = sample::record(64, 10);
  old.tuned_at = "2026-11-21 10:32:05";
  put(*store, old);
  put(*store, sample::record(128, 10));
  REQUIRE(find(*store, 64));  // now it is cached
  old.vendor_us = 12;
  old.vendor = "cuBLASLt 13.1.0";
  store->put_comparison(old);
  const auto other = Store::open(options);
  for (const Store* each : {store.get(), other.get()}) {
    CHECK(find(*each, 64)->record.vendor_us == 12);
    CHECK(find(*each, 64)->record.vendor == "cuBLASLt 13.1.0");
    CHECK(find(*each, 128)->record.vendor == "");
  }
  put(*store, sample::record(64, 9));
  store->put_comparison(old);  // of the winner that was replaced
  CHECK(find(*store, 64)->record.vendor_us == 0);
  CHECK(find(*store, 64)->record.vendor == "");
}

TEST_CASE("A winner that was put is found among those that were cached before") {
  const TemporaryFolder folder;
  const auto store = Store::open(sample::options(folder.path() / "cache.db"));
  Record old = sample::record(64, 10);
  old.toolchain = sample::toolchain("570");
  put(*store, old);
  CHECK(find(*store, 64)->match == Match::kStale);
  put(*store, sample::record(64, 12));
  CHECK(find(*store, 64)->record.measurement.median_us == 12);
  put(*store, sample::record(64, 11, Rigor::kExhaustive));
  CHECK(find(*store, 64)->record.measurement.median_us == 11);
  CHECK(find(*store, 64, sample::toolchain("570"))->record.measurement.median_us == 10);
  CHECK(store->winners().size() == 2);
}

namespace {

// The product of the ratios of M, N, K and batch, each plus one.
double apart(const Problem& left, const Problem& right) {
  double product = 1;
  for (const auto extent : {&Problem::m, &Problem::n, &Problem::k, &Problem::batch}) {
    const auto [less, more] = std::minmax(left.*extent, right.*extent);
    product *= (1.0 + static_cast<double>(more)) / (1.0 + static_cast<double>(less));
  }
  return product;
}

}  // namespace

TEST_CASE("The neighbours of a problem are the winners nearest in size") {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  constexpr int kProblems = 300;
  std::mt19937_64 random(test_seed());
  const auto any_problem = [&] {
    const auto extent = [&] {
      return static_cast<std::int64_t>(std::uint64_t{1} << (4 + random() % 9) | random() % 8);
    };
    return canonical(make_problem(extent(), extent(), extent(), DataType::kF16, DataType::kF16,
                                  DataType::kF16, "nt"));
  };
  std::vector<CanonicalProblem> problems;
  {
    const auto store = Store::open(options);
    auto connection =
        sqlite::Connection::open(options.path, sqlite::Connection::Mode::kReadWrite, 1000);
    sqlite::Transaction transaction(connection);
    Record record = sample::record(1);
    for (int count = 0; count < kProblems; ++count) {
      record.problem = any_problem();
      put_winner(
          connection, record, std::nullopt, [](auto, auto) { return true; },
          Replace::kLessThorough);
      if (std::find(problems.begin(), problems.end(), record.problem) == problems.end()) {
        problems.push_back(record.problem);
      }
    }
    transaction.commit();
  }
  const auto store = Store::open(options);
  for (int round = 0; round < 50; ++round) {
    const CanonicalProblem target =
        round % 2 == 0 ? any_problem() : problems[static_cast<size_t>(round)];
    std::vector<double> expected, found;
    for (const CanonicalProblem& problem : problems) {
      if (apart(target, problem) <= 16) {
        expected.push_back(apart(target, problem));
      }
    }
    std::sort(expected.begin(), expected.end());
    const int count = 1 + round % 12;
    expected.resize(std::min(expected.size(), static_cast<std::size_t>(count)));
    for (const Record& neighbour : store->neighbours(target, sample::device(), count)) {
      found.push_back(apart(target, neighbour.problem));
    }
    INFO(to_text(target));
    REQUIRE(found.size() == expected.size());
    for (std::size_t index = 0; index < found.size(); ++index) {
      CHECK(found[index] == Catch::Approx(expected[index]));
    }
  }
}

TEST_CASE("Neighbours have the same device, types, orders, epilogue and numerics") {
  const TemporaryFolder folder;
  const auto system = folder.path() / "system.db";
  const CanonicalProblem target = sample::problem(64);
  {
    const auto store = Store::open(sample::options(system));
    put(*store, sample::record(65, 10));
  }
  auto options = sample::options(folder.path() / "cache.db");
  options.system_paths = {system};
  const auto store = Store::open(options);
  const auto put_other = [&](auto change) {
    Record other = sample::record(64);
    change(other);
    put(*store, other);
  };
  put_other([](Record& other) { other.device.name = "Other GPU"; });
  put_other([](Record& other) {
    other.problem = sample::changed(other.problem, [](Problem& p) { p.bias = Bias::kPerRow; });
  });
  put_other([](Record& other) {
    other.problem =
        sample::changed(other.problem, [](Problem& p) { p.activation = Activation::kRelu; });
  });
  put_other([](Record& other) {
    other.problem = sample::changed(other.problem, [](Problem& p) { p.beta = ScalarClass::kOne; });
  });
  put_other([](Record& other) {
    other.problem = canonical(
        make_problem(64, 4096, 1024, DataType::kBF16, DataType::kBF16, DataType::kBF16, "nt"));
  });
  put_other([](Record& other) {
    other.problem = canonical(
        make_problem(64, 4096, 1024, DataType::kF16, DataType::kF16, DataType::kF16, "nn"));
  });
  put_other([](Record& other) { other.problem = sample::problem(64 * 17); });
  CHECK(store->neighbours(target, sample::device(), 8).size() == 1);
  // A stale winner counts, and all winners of a problem come together.
  put_other([](Record& other) { other.toolchain = sample::toolchain("570"); });
  put_other([](Record& other) { other.toolchain = sample::toolchain("560"); });
  const auto neighbours = store->neighbours(target, sample::device(), 8);
  REQUIRE(neighbours.size() == 3);
  CHECK(neighbours[0].problem == target);
  CHECK(neighbours[1].problem == target);
  CHECK(neighbours[2].problem == sample::problem(65));
}

TEST_CASE("Distant neighbours are one problem for each config, those nearest in M first") {
  const TemporaryFolder folder;
  const auto store = Store::open(sample::options(folder.path() / "cache.db"));
  const auto put_winner_of = [&](std::int64_t m, int stages) {
    Record record = sample::record(m);
    record.config.set("stages", stages);
    put(*store, record);
  };
  const CanonicalProblem target = sample::problem(1000);
  for (std::int64_t m = 2000; m < 2040; ++m) {
    put_winner_of(m, 2);
  }
  put_winner_of(1, 3);
  put_winner_of(1'000'000, 4);
  put_winner_of(1000, 5);
  const auto m_of = [&](int count) {
    std::vector<std::int64_t> all;
    for (const Record& record : store->distant_neighbours(target, sample::device(), count)) {
      all.push_back(record.problem->m);
    }
    return all;
  };
  CHECK(m_of(8) == std::vector<std::int64_t>{1000, 2000, 1, 1'000'000});
  CHECK(m_of(2) == std::vector<std::int64_t>{1000, 2000});
  DeviceIdentity other = sample::device();
  other.name = "Other GPU";
  CHECK(store->distant_neighbours(target, other, 8).empty());
}

TEST_CASE("Similar devices have winners and the same architecture, the most similar first") {
  const TemporaryFolder folder;
  const auto system = folder.path() / "system.db";
  const auto put_winner_on = [](Store& store, auto change) {
    Record record = sample::record(64);
    change(record.device);
    put(store, record);
  };
  {
    const auto store = Store::open(sample::options(system));
    put_winner_on(*store,
                  [](DeviceIdentity& other) { other.name = "Fewer SMs", other.units = 114; });
    put_winner_on(*store, [](DeviceIdentity& other) { other.name = "As many SMs"; });
  }
  auto options = sample::options(folder.path() / "cache.db");
  options.system_paths = {system};
  const auto store = Store::open(options);
  put_winner_on(*store, [](DeviceIdentity&) {});
  put_winner_on(*store, [](DeviceIdentity& other) { other.power_limit_watts = 500; });
  put_winner_on(*store, [](DeviceIdentity& other) { other.name = "As many SMs"; });
  put_winner_on(*store, [](DeviceIdentity& other) { other.compute_capability = 80; });
  put_winner_on(*store, [](DeviceIdentity& other) { other.backend = "host"; });
  DeviceIdentity without_winner = sample::device();
  without_winner.name = "Without a winner";
  store->note_request(sample::problem(64), without_winner, 1);
  store->flush();
  const auto names = [&] {
    std::vector<std::string> all;
    for (const DeviceIdentity& similar : store->similar_devices(sample::device())) {
      all.push_back(similar.name);
    }
    return all;
  };
  CHECK(names() == std::vector<std::string>{"Sample GPU", "As many SMs", "Fewer SMs"});
  CHECK(store->similar_devices(sample::device()).front().power_limit_watts == 500);
  for (const int units : {100, 101, 102}) {
    put_winner_on(*store, [&](DeviceIdentity& other) { other.units = units; });
  }
  CHECK(names() == std::vector<std::string>(4, "Sample GPU"));
}

TEST_CASE("The count of changes grows when this store or another process has stored something") {
  const TemporaryFolder folder;
  const auto store = Store::open(sample::options(folder.path() / "cache.db"));
  const auto other = Store::open(sample::options(folder.path() / "cache.db"));
  const auto look_up = [&] {
    store->find(sample::key(3), sample::limits());
    return store->changes();
  };
  std::int64_t before = look_up();
  CHECK(look_up() == before);
  store->put_binary(sample::source(1), sample::toolchain(), 90, sample::binary());
  CHECK(look_up() > before);
  before = look_up();
  put(*store, sample::record(1));
  CHECK(look_up() > before);
  before = look_up();
  other->put_binary(sample::source(2), sample::toolchain(), 90, sample::binary());
  CHECK(look_up() > before);
  before = look_up();
  CHECK(look_up() == before);
}

TEST_CASE("Store returns a binary for its source, compiler and architecture, whatever the driver") {
  const TemporaryFolder folder;
  const auto store = Store::open(sample::options(folder.path() / "cache.db"));
  const Binary binary = sample::binary(5000);
  store->put_binary(sample::source(1), sample::toolchain(), 90, binary);
  const auto found = store->find_binary(sample::source(1), sample::toolchain("999"), 90);
  REQUIRE(found);
  CHECK(found->code == binary.code);
  CHECK(found->entry == binary.entry);
  CHECK(found->registers == binary.registers);
  CHECK(found->shared_bytes == binary.shared_bytes);
  CHECK(found->compile_ms == binary.compile_ms);
  CHECK_FALSE(store->find_binary(sample::source(2), sample::toolchain(), 90));
  CHECK_FALSE(store->find_binary(sample::source(1), sample::toolchain(), 80));
  CHECK_FALSE(store->find_binary(sample::source(1), {"nvrtc 12.0", "580.65"}, 90));
  store->put_binary(sample::source(1), sample::toolchain(), 90, sample::binary(5000, 2));
  CHECK(store->find_binary(sample::source(1), sample::toolchain(), 90)->code ==
        sample::binary(5000, 2).code);
  store->forget_binary(sample::source(1), sample::toolchain(), 90);
  CHECK_FALSE(store->find_binary(sample::source(1), sample::toolchain(), 90));
}

TEST_CASE("Machine code of all compilers is found, that of the requested one first") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  const auto store = Store::open(sample::options(path));
  const auto compilers = [&](const std::string& here, int architecture,
                             const std::string& compiler) {
    std::string all;
    for (const StoredBinary& stored :
         store->find_binaries(sample::source(1), {here, "any driver"}, architecture, compiler)) {
      all += stored.compiler + ";";
      CHECK(stored.binary.code ==
            sample::binary(1000, static_cast<int>(stored.compiler.size())).code);
    }
    return all;
  };
  const auto put = [&](const std::string& compiler, int architecture) {
    store->put_binary(sample::source(1), {compiler, ""}, architecture,
                      sample::binary(1000, static_cast<int>(compiler.size())));
  };
  put("nvrtc 13.0", 90);
  CHECK(compilers("none", 90, "none") == "nvrtc 13.0;");
  CHECK(compilers("none", 80, "none").empty());
  CHECK_FALSE(store->find_binary(sample::source(1), {"none", ""}, 90));
  put("nvrtc 12.4.1", 90);
  CHECK(compilers("none", 90, "nvrtc 12.4.1") == "nvrtc 12.4.1;nvrtc 13.0;");
  CHECK(compilers("none", 90, "nvrtc 13.0") == "nvrtc 13.0;nvrtc 12.4.1;");

  SECTION("on the host, only if the CPU has the features") {
    put("g++ 12 for avx2+fma", 0);
    CHECK(compilers("none for avx2+fma", 0, "") == "g++ 12 for avx2+fma;");
    CHECK(compilers("clang++ 14 for avx512f+fma+avx2", 0, "") == "g++ 12 for avx2+fma;");
    CHECK(compilers("none for avx2", 0, "").empty());
    CHECK(compilers("none", 0, "g++ 12 for avx2+fma").empty());
    put("g++ 12", 0);
    CHECK(compilers("none for avx2", 0, "") == "g++ 12;");
  }
  SECTION("a damaged row is left out and deleted") {
    auto connection = sqlite::Connection::open(path, sqlite::Connection::Mode::kReadWrite, 1000);
    connection.execute("UPDATE kernel SET code = zeroblob(1000) WHERE compiler = 'nvrtc 12.4.1'");
    CHECK(compilers("none", 90, "nvrtc 12.4.1") == "nvrtc 13.0;");
    std::int64_t rows = 0;
    sqlite::Statement left(connection, "SELECT count(*) FROM kernel");
    REQUIRE(left.step());
    left.read(rows);
    CHECK(rows == 1);
  }
  SECTION("also in a system file") {
    StoreOptions options = sample::options(folder.path() / "user.db");
    options.system_paths = {path};
    const auto layered = Store::open(options);
    layered->put_binary(sample::source(1), {"nvrtc 13.1", ""}, 90, sample::binary(1000, 7));
    const auto found =
        layered->find_binaries(sample::source(1), {"nvrtc 13.1", ""}, 90, "nvrtc 13.0");
    REQUIRE(found.size() == 3);
    CHECK(found.front().compiler == "nvrtc 13.0");
  }
}

TEST_CASE("The winner's binary is stored with it") {
  const TemporaryFolder folder;
  const auto store = Store::open(sample::options(folder.path() / "cache.db"));
  CHECK(store
            ->put(sample::record(64), sample::source(64), sample::binary(2000),
                  {sample::trial(64, 14), sample::trial(128, 12.5)})
            .stored);
  CHECK(store->find_binary(sample::source(64), sample::toolchain(),
                           sample::device().compute_capability));
  CHECK(store->trials(sample::key(64)).size() == 2);
}

TEST_CASE("Store returns the newest outcome of each candidate") {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  const TrialRecord measured = sample::trial(64, 14);
  {
    const auto store = Store::open(options);
    const auto put = [&](const TrialRecord& trial) { store->put_trial(sample::key(64), trial); };
    put(sample::rejected(64, Reason::kTooSlow));
    put(measured);
    put(sample::rejected(128, Reason::kSpills));
  }
  const auto store = Store::open(options);
  const auto trials = store->trials(sample::key(64));
  REQUIRE(trials.size() == 2);
  CHECK(trials[0].family == measured.family);
  CHECK(trials[0].config == measured.config);
  CHECK(trials[0].family_fingerprint == measured.family_fingerprint);
  CHECK(trials[0].measurement == measured.measurement);
  CHECK_FALSE(trials[0].rejection);
  CHECK(trials[0].final_round);
  CHECK(trials[0].predicted_us == measured.predicted_us);
  CHECK(trials[0].max_error == measured.max_error);
  CHECK(trials[0].registers == measured.registers);
  CHECK(trials[0].shared_bytes == measured.shared_bytes);
  CHECK(trials[0].compile_ms == measured.compile_ms);
  CHECK(trials[0].sm_clock_mhz == measured.sm_clock_mhz);
  REQUIRE(trials[1].rejection);
  CHECK_FALSE(trials[1].measurement);
  CHECK(*trials[1].rejection == Rejection{Reason::kSpills, "because of the test"});
  CHECK(store->trials({sample::problem(64), sample::device(), sample::toolchain("1")}).empty());
}

TEST_CASE("A request keeps its names") {
  const TemporaryFolder folder;
  const auto name_after = [&](std::string_view name) {
    StoreOptions options;
    options.path = folder.path() / "cache.db";
    const auto store = Store::open(options);
    store->note_request(sample::problem(64), sample::device(), 0, name);
    store->note_request(sample::problem(64), sample::device(), 2);
    return store->requests(sample::device()).front().name;
  };
  CHECK(name_after("").empty());
  CHECK(name_after("up projection") == "up projection");
  CHECK(name_after("") == "up projection");
  CHECK(name_after("gate") == "up projection, gate");
  CHECK(name_after("gate") == "up projection, gate");
  CHECK(name_after(std::string(200, 'x')) == "up projection, gate");
}

TEST_CASE("Names of one problem are joined, each once, up to 200 bytes") {
  CHECK(joined_names("", "up") == "up");
  CHECK(joined_names("up", "") == "up");
  CHECK(joined_names("up", "gate") == "up, gate");
  CHECK(joined_names("up, gate", "gate, down, up") == "up, gate, down");
  CHECK(joined_names("up", "u") == "up, u");
  const std::string longest(196, 'x');
  CHECK(joined_names(longest, "up") == longest + ", up");
  CHECK(joined_names(longest, "gate") == longest);
}

TEST_CASE("Store keeps the names of tuned problems, also in exports and merges") {
  const TemporaryFolder folder;
  const auto name_in = [](const Store& store) {
    const auto winners = store.winners_with_state();
    return winners.size() == 1 ? winners.front().name : "not one winner";
  };
  const auto copy = folder.path() / "copy.db", selection = folder.path() / "selection.db";
  {
    const auto store = Store::open(sample::options(folder.path() / "cache.db"));
    put(*store, sample::record(64));
    CHECK(name_in(*store).empty());
    store->add_name(sample::problem(64), sample::device(), "query");
    store->add_name(sample::problem(64), sample::device(), "key");
    CHECK(name_in(*store) == "query, key");
    store->note_request(sample::problem(64), sample::device(), 5);
    // A problem without a winner gets no row.
    store->add_name(sample::problem(65), sample::device(), "value");
    store->note_request(sample::problem(66), sample::device(), 1, "asked for");
    store->flush();
    CHECK(store->requests(sample::device()).size() == 1);
    CHECK(store->export_to(copy).empty());
    CHECK(store->export_to(selection, [](const WinnerWithState&) { return true; }).empty());
  }
  for (const auto& exported : {copy, selection}) {
    auto file = sqlite::Connection::open(exported, sqlite::Connection::Mode::kImmutable, 0);
    CHECK(file.text("SELECT name || calls FROM best") == "query, key0");
    CHECK(file.integer("SELECT count(*) FROM request") == 1);
    StoreOptions options = sample::options(folder.path() / "user.db");
    options.system_paths = {exported};
    CHECK(name_in(*Store::open(options)) == "query, key");
  }
  const auto other = Store::open(sample::options(folder.path() / "other.db"));
  put(*other, sample::record(64));
  other->add_name(sample::problem(64), sample::device(), "key");
  for (int time = 0; time < 2; ++time) {
    CHECK(other->merge(copy).failure.empty());
    CHECK(name_in(*other) == "key, query");
  }
  CHECK(other->requests(sample::device()).empty());
}

TEST_CASE("Store counts requests until there is a winner") {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  {
    const auto store = Store::open(options);
    for (int call = 0; call < 3; ++call) {
      store->note_request(sample::problem(64), sample::device(), 1);
    }
    store->note_request(sample::problem(4096), sample::device(), 1);
    store->flush();
    store->note_request(sample::problem(64), sample::device(), 1);
  }
  const auto store = Store::open(options);
  const auto requests = store->requests(sample::device());
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].problem == sample::problem(4096));
  CHECK(requests[0].calls == 1);
  CHECK(requests[1].calls == 4);
  put(*store, sample::record(64));
  CHECK(store->requests(sample::device()).size() == 1);
}

TEST_CASE("Store forgets the winners and trials of the given keys alone") {
  const TemporaryFolder folder;
  const auto store = Store::open(sample::options(folder.path() / "cache.db"));
  Record of_other_device = sample::record(64);
  of_other_device.device.name = "Other GPU";
  put(*store, sample::record(64));
  put(*store, of_other_device);
  put(*store, sample::record(128));
  store->put_trial(sample::key(64), sample::trial(64, 1));
  store->put_trial(sample::key(64), sample::rejected(128, Reason::kCrashed));
  store->put_trial(sample::key(128), sample::trial(64, 1));
  store->put_trial(sample::key(256), sample::trial(64, 1));
  CHECK(store->forget({sample::key(64), sample::key(256)}) ==
        ForgetResult{.winners = 1, .trials = 3});
  CHECK_FALSE(find(*store, 64));
  CHECK(store->trials(sample::key(64)).empty());
  CHECK(store->winners(sample::problem(64), of_other_device.device).size() == 1);
  CHECK(find(*store, 128));
  CHECK(store->trials(sample::key(128)).size() == 1);
  CHECK(store->forget({sample::key(64)}) == ForgetResult());
}

TEST_CASE("A thousand requests are written while the store is open, and each counts once") {
  const TemporaryFolder folder;
  const auto options = sample::options(folder.path() / "cache.db");
  constexpr int kRequests = 1500;
  {
    const auto store = Store::open(options);
    const auto written = [&] {
      return sqlite::Connection::open(options.path, sqlite::Connection::Mode::kReadOnly, 1000)
          .integer("SELECT count(*) FROM request");
    };
    for (int m = 1; m <= kRequests; ++m) {
      store->note_request(sample::problem(m), sample::device(), m);
      if (m == 900) {
        store->refresh();
        CHECK(written() == 0);
      }
    }
    store->refresh();
    CHECK(written() > 400);
  }
  const std::vector<Request> requests = Store::open(options)->requests(sample::device());
  CHECK(requests.size() == kRequests);
  for (const Request& request : requests) {
    CHECK(request.calls == request.problem->m);
  }
}

TEST_CASE("A problem's request and name are forgotten with its last winner on the device") {
  const TemporaryFolder folder;
  const auto store = Store::open(sample::options(folder.path() / "cache.db"));
  Record stale = sample::record(64);
  stale.toolchain = sample::toolchain("570");
  put(*store, stale);
  put(*store, sample::record(64));
  put(*store, sample::record(128));
  for (const int m : {64, 128}) {
    store->note_request(sample::problem(m), sample::device(), 3, "layer");
  }
  const auto names = [&] {
    std::string text;
    for (const WinnerWithState& winner : store->winners_with_state()) {
      text += std::to_string(winner.record.problem->m) + " " + winner.name + ";";
    }
    return text;
  };
  CHECK(store->forget({{stale.problem, stale.device, stale.toolchain}}).winners == 1);
  CHECK(names() == "64 layer;128 layer;");
  CHECK(store->forget({sample::key(64)}).winners == 1);
  CHECK(names() == "128 layer;");
  CHECK(store->requests(sample::device()).empty());
  put(*store, sample::record(64));
  CHECK(names() == "64 ;128 layer;");
}

TEST_CASE("An exported file serves as a system file, and the user's own comes first") {
  const TemporaryFolder folder;
  const auto system = folder.path() / "system.db";
  {
    const auto store = Store::open(sample::options(folder.path() / "first.db"));
    CHECK(store->put(sample::record(64, 10), sample::source(), sample::binary(), {}).stored);
    put(*store, sample::record(128, 20));
    CHECK(store->export_to(system).empty());
    CHECK_THAT(store->export_to(system), Catch::Matchers::ContainsSubstring("is there already"));
    CHECK_THAT(store->export_to("/proc/nowhere/x.db"),
               Catch::Matchers::ContainsSubstring("/proc/nowhere/x.db"));
  }
  auto options = sample::options(folder.path() / "second.db");
  options.system_paths = {folder.path() / "absent.db", system};
  const auto store = Store::open(options);
  CHECK(store->health().warnings.size() == 1);
  CHECK(find(*store, 128)->record.measurement.median_us == 20);
  CHECK(store->find_binary(sample::source(), sample::toolchain(), 90));
  put(*store, sample::record(64, 30));
  CHECK(find(*store, 64)->record.measurement.median_us == 30);
  CHECK(store->forget({sample::key(64)}).winners == 1);
  CHECK(find(*store, 64)->record.measurement.median_us == 10);
  CHECK(store->forget({sample::key(64)}) == ForgetResult());
}

TEST_CASE("An exported selection has its winners, their binaries and measured trials alone") {
  const TemporaryFolder folder;
  const auto chosen = folder.path() / "chosen.db";
  const auto store = Store::open(sample::options(folder.path() / "cache.db"));
  for (const int m : {64, 128}) {
    CHECK(store
              ->put(sample::record(m), sample::source(m), sample::binary(1000, m),
                    {sample::trial(64, 11), sample::rejected(256, Reason::kSpills)})
              .stored);
  }
  Record other = sample::record(64);
  other.device.name = "Other GPU";
  put(*store, other);
  store->put_binary(sample::source(99), sample::toolchain(), 90, sample::binary());
  const auto selects = [](const WinnerWithState& winner) {
    return winner.record.problem->m == 64 && winner.record.device == sample::device();
  };
  CHECK_THAT(store->export_to(chosen, [](const WinnerWithState&) { return false; }),
             Catch::Matchers::ContainsSubstring("no winner is selected"));
  CHECK_FALSE(std::filesystem::exists(chosen));
  REQUIRE(store->export_to(chosen, selects).empty());
  CHECK(std::filesystem::status(chosen).permissions() ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::group_read |
         std::filesystem::perms::others_read));

  StoreOptions options = sample::options("");
  options.access = StoreOptions::Access::kMemoryOnly;
  options.system_paths = {chosen};
  const auto shipped = Store::open(options);
  const std::vector<Record> winners = shipped->winners();
  REQUIRE(winners.size() == 1);
  CHECK(winners.front().problem == canonical(sample::problem(64)));
  CHECK(find(*shipped, 64));
  CHECK(shipped->find_binary(sample::source(64), sample::toolchain(), 90));
  CHECK_FALSE(shipped->find_binary(sample::source(128), sample::toolchain(), 90));
  CHECK_FALSE(shipped->find_binary(sample::source(99), sample::toolchain(), 90));
  CHECK(shipped->trials(sample::key(128)).empty());
  const std::vector<TrialRecord> trials = shipped->trials(sample::key(64));
  REQUIRE(trials.size() == 1);
  CHECK(trials.front().config == sample::trial(64, 11).config);
  auto file = sqlite::Connection::open(chosen, sqlite::Connection::Mode::kImmutable, 0);
  CHECK(file.text("PRAGMA journal_mode") == "delete");
  CHECK(file.integer("SELECT count(*) FROM problem") == 1);
  CHECK(file.integer("SELECT count(*) FROM device") == 1);
  CHECK(file.integer("SELECT count(*) FROM config") == 2);
}

TEST_CASE("A store in memory keeps its content until it is destroyed") {
  StoreOptions options = sample::options("");
  options.access = StoreOptions::Access::kMemoryOnly;
  const auto store = Store::open(options);
  CHECK(store->health().state == StoreState::kMemoryOnly);
  CHECK(store->path().empty());
  CHECK(store->put(sample::record(64), sample::source(), sample::binary(), {sample::trial(64, 1)})
            .stored);
  CHECK(find(*store, 64));
  CHECK(store->find_binary(sample::source(), sample::toolchain(), 90));
  CHECK(store->trials(sample::key(64)).size() == 1);
  store->note_request(sample::problem(1), sample::device(), 1);
  CHECK(store->requests(sample::device()).size() == 1);
}
