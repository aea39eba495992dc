// Files that an older version of the library has written: tests/data/cache_version_1.sql is one of
// version 1, made by the last library that wrote it.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cache/sqlite/migration_2.h"
#include "cache/sqlite/schema.h"
#include "cache/sqlite/sqlite.h"
#include "cache/store.h"
#include "kernel_templates/family.h"
#include "tests/cache/support/processes.h"
#include "tests/cache/support/sample.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

using namespace tunedgemm::internal;
namespace fs = std::filesystem;

namespace {

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

sqlite::Connection connect(const fs::path& path) {
  return sqlite::Connection::open(path, sqlite::Connection::Mode::kReadWrite, 1000);
}

fs::path make_version_1(const fs::path& folder) {
  const fs::path path = folder / "cache.db";
  std::ofstream(path).close();
  connect(path).execute(
      read_file(fs::path(TUNEDGEMM_SOURCE_FOLDER) / "tests/data/cache_version_1.sql"));
  return path;
}

StoreOptions options(const fs::path& path) {
  StoreOptions options;
  options.path = path;
  return options;
}

Toolchain toolchain(const std::string& driver) {
  return {"nvrtc 13.0", driver};
}

DeviceLimits limits() {
  DeviceLimits limits;
  limits.backend = "cuda";
  limits.arch = 90;
  limits.sm_count = 132;
  limits.shared_bytes_per_block = 232448;
  limits.shared_bytes_per_sm = 233472;
  return limits;
}

DeviceLimits host_limits() {
  DeviceLimits limits;
  limits.backend = "host";
  limits.threads = 2;
  limits.simd_bits = 256;
  return limits;
}

Problem cube(std::int64_t extent) {
  return make_problem(extent, extent, extent, DataType::kF16, DataType::kF16, DataType::kF16, "nn");
}

Problem bf16_problem() {
  return make_problem(8192, 4096, 4096, DataType::kBF16, DataType::kBF16, DataType::kBF16, "nt");
}

Problem f32_problem(std::int64_t m) {
  return make_problem(m, 5, 6, DataType::kF32, DataType::kF32, DataType::kF32, "nn");
}

// What a template's text is now is of no interest here: the rows are made to be of the present one.
void follow_templates(const fs::path& path) {
  auto connection = connect(path);
  for (const CarriedFamily& carried : carried_families()) {
    const Family* family = find_family(carried.name);
    REQUIRE(family != nullptr);
    for (const char* update :
         {"UPDATE winner SET family_fingerprint = ? WHERE family_fingerprint = ?",
          "UPDATE meta SET value = ? WHERE value = ?"}) {
      sqlite::Statement statement(connection, update);
      statement.bind(family->fingerprint(), carried.version_2).run();
    }
  }
}

constexpr const char* kFirstConfig =
    "block_m=128 block_n=256 block_k=64 stages=4 epilogue_stages=1 consumers=2 ping_pong=0 "
    "cluster_m=2 cluster_n=1 group_m=8 raster_along_n=1 gpc_aware=1 evict_first=0 split_k=1 "
    "in_flight=1 tensor_store=1 programmatic=1 swap_ab=0 prefetch=0";
constexpr const char* kSecondConfig =
    "block_m=128 block_n=256 block_k=64 stages=4 epilogue_stages=1 consumers=2 ping_pong=0 "
    "cluster_m=2 cluster_n=1 group_m=16 raster_along_n=0 gpc_aware=0 evict_first=0 split_k=1 "
    "in_flight=1 tensor_store=1 programmatic=1 swap_ab=0 prefetch=0";

std::string count(sqlite::Connection& connection, const std::string& from_where) {
  return connection.text("SELECT count(*) FROM " + from_where);
}

// Its root page: the other tables stay sound.
void damage_table(const fs::path& path, const std::string& table) {
  const auto page =
      connect(path).integer("SELECT rootpage FROM sqlite_schema WHERE name = '" + table + "'");
  const auto page_bytes = connect(path).integer("PRAGMA page_size");
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp((page - 1) * page_bytes);
  file << std::string(static_cast<std::size_t>(page_bytes), '\xa5');
}

}  // namespace

TEST_CASE("The winners of version 1 are found with the names that the knobs have now") {
  const TemporaryFolder folder;
  const auto path = make_version_1(folder.path());
  CHECK(connect(path).integer("PRAGMA user_version") == 1);
  CHECK(Store::open(options(path))->health().state == StoreState::kReadWrite);
  CHECK(connect(path).integer("PRAGMA user_version") == schema_version());
  follow_templates(path);

  const auto store = Store::open(options(path));
  CHECK(store->health().warnings.empty());
  const auto winner = store->find(cube(4096), sample::device(), toolchain("580.65"), limits());
  REQUIRE(winner);
  CHECK(winner->match == Match::kExact);
  CHECK(winner->record.family == "wgmma");
  CHECK(to_text(winner->record.config) == kFirstConfig);
  CHECK(winner->record.measurement.median_us == 180);
  CHECK(winner->record.measurement.samples_us == std::vector{180.0F, 180.25F});
  CHECK(winner->record.default_us == 270);
  CHECK(winner->record.rigor == Rigor::kNormal);
  CHECK(winner->record.candidates_tried == 8);
  CHECK(winner->record.tuned_at == "2026-11-22 10:00:00");
  CHECK(winner->record.ties ==
        std::vector<std::string>{std::string("wgmma ") + kSecondConfig,
                                 "mma block_m=128 block_n=128 block_k=32 warp_m=64 warp_n=64 "
                                 "stages=4 group_m=8 split_k=1"});
  const auto stale = store->find(bf16_problem(), sample::device(), toolchain("580.65"), limits());
  REQUIRE(stale);
  CHECK(stale->match == Match::kStale);
  CHECK(to_text(stale->record.config) == kSecondConfig);

  CHECK(store->find(cube(512), sample::device(), toolchain("580.65"), limits()));
  const auto naive = store->find(f32_problem(4), sample::device(), toolchain("580.65"), limits());
  REQUIRE(naive);
  CHECK(naive->record.family == "naive_2d");
  CHECK(naive->record.config == Config());
  CHECK(naive->record.ties == std::vector<std::string>{"naive_2d wide=1", "naive_1d threads=256"});
}

TEST_CASE("A migrated config has its family's knobs in their order") {
  const TemporaryFolder folder;
  const auto path = make_version_1(folder.path());
  const auto winners = Store::open(options(path))->winners();
  CHECK(winners.size() == 7);
  for (const Record& record : winners) {
    if (record.family == "naive_2d" && to_text(record.config) == "wide=1") {
      continue;
    }
    const Family* family = find_family(record.family);
    REQUIRE(family != nullptr);
    std::vector<std::string> knobs, expected;
    for (const auto& [knob, value] : record.config.knobs()) {
      knobs.push_back(knob);
    }
    for (const Knob& knob : family->knobs()) {
      expected.emplace_back(knob.name);
    }
    CHECK(knobs == expected);
  }
}

TEST_CASE("The trials, requests and leases of version 1 stay") {
  const TemporaryFolder folder;
  const auto path = make_version_1(folder.path());
  const auto store = Store::open(options(path));
  const auto trials = store->trials(bf16_problem(), sample::device(), toolchain("535.1"));
  REQUIRE(trials.size() == 2);
  CHECK(to_text(trials[0].config) == kSecondConfig);
  CHECK(trials[0].measurement->median_us == 350);
  CHECK(to_text(trials[1].config) == kFirstConfig);
  CHECK(trials[1].rejection->reason == Reason::kSpills);
  CHECK(store->trials(cube(4096), sample::device(), toolchain("580.65")).size() == 2);
  const auto requests = store->requests(sample::device());
  REQUIRE(requests.size() == 1);
  CHECK(requests[0].problem == cube(2048));
  CHECK(requests[0].calls == 2);
  // Its process is gone: what it had in flight is a trial of the renamed config.
  CHECK(store->acquire(bf16_problem(), sample::device(), toolchain("580.65"), 0));
  const auto crashed = store->trials(bf16_problem(), sample::device(), toolchain("580.65"));
  REQUIRE(crashed.size() == 1);
  CHECK(to_text(crashed[0].config) == kSecondConfig);
  CHECK(crashed[0].rejection->reason == Reason::kCrashed);
  auto connection = connect(path);
  for (const CarriedFamily& carried : carried_families()) {
    const std::string old = "family_fingerprint = '" + std::string(carried.version_1) + "'";
    const std::string kept = carried.name == "naive_2d" ? "1" : "0";
    CHECK(count(connection, "winner WHERE " + old) == kept);
  }
  CHECK(crashed[0].family_fingerprint == trials[0].family_fingerprint);
}

TEST_CASE("Rows that version 2 cannot carry on are void and stay as history") {
  const TemporaryFolder folder;
  const auto path = make_version_1(folder.path());
  Store::open(options(path));
  follow_templates(path);
  const auto store = Store::open(options(path));
  // naive_2d with wide=1, and a template that was an old one in version 1 already.
  const Problem older =
      make_problem(640, 512, 512, DataType::kF16, DataType::kF16, DataType::kF16, "nn");
  CHECK_FALSE(store->find(f32_problem(3), sample::device(), toolchain("580.65"), limits()));
  CHECK_FALSE(store->find(older, sample::device(), toolchain("580.65"), limits()));
  std::vector<std::string> states;
  for (const auto& [record, state] : store->winners_with_state()) {
    states.push_back(std::to_string(record.problem.m) + " " + state);
  }
  std::sort(states.begin(), states.end());
  CHECK(states == std::vector<std::string>{"3 void", "4 confirmed", "4 provisional",
                                           "4096 confirmed", "512 confirmed", "640 void",
                                           "8192 stale"});
  auto connection = connect(path);
  CHECK(count(connection, "trials WHERE config = 'naive_2d wide=1'") == "2");
  CHECK(count(connection,
              "config WHERE knobs GLOB '*stages_d*' OR knobs GLOB '*by_gpc*' OR "
              "knobs GLOB '* group=*' OR knobs GLOB '*raster=*'") == "0");
}

TEST_CASE("A migrated winner's binary is found by the source that it has now") {
  const TemporaryFolder folder;
  const auto path = make_version_1(folder.path());
  const auto store = Store::open(options(path));
  int found = 0, current = 0;
  for (const Record& record : store->winners()) {
    const Family* family = find_family(record.family);
    if (family->fingerprint() != record.family_fingerprint) {
      continue;
    }
    ++current;
    const DeviceLimits here = record.device.backend == "cuda" ? limits() : host_limits();
    const Source source = family->instantiate(record.problem, record.config, here).value().source();
    const auto binary = store->find_binary(source, record.toolchain, here.arch);
    found += binary && binary->code.size() == 24 ? 1 : 0;
  }
  // None is current once a template has changed since version 2 came.
  INFO(current << " winners of present templates");
  CHECK(found == current);
  CHECK(connect(path).integer("SELECT count(*) FROM kernel") == 6);
}

TEST_CASE("A file of version 1 is migrated once") {
  const TemporaryFolder folder;
  const auto path = make_version_1(folder.path());
  Store::open(options(path));
  follow_templates(path);
  Store::open(options(path));
  const std::string before = read_file(path);
  CHECK(Store::open(options(path))->winners().size() == 7);
  CHECK(read_file(path) == before);
}

TEST_CASE("A file of version 1 that may only be read is left alone, and its winners are found") {
  const TemporaryFolder folder;
  const auto path = make_version_1(folder.path());
  const std::string before = read_file(path);
  {
    auto reading = options(path);
    reading.access = StoreOptions::Access::kReadOnly;
    const auto store = Store::open(reading);
    CHECK(store->health().state == StoreState::kReadOnly);
    CHECK(store->health().warnings.empty());
    const auto winners = store->winners();
    CHECK(winners.size() == 7);
    CHECK(std::any_of(winners.begin(), winners.end(),
                      [](const Record& record) { return to_text(record.config) == kFirstConfig; }));
    CHECK(store->trials(cube(4096), sample::device(), toolchain("580.65")).size() == 2);
  }
  CHECK(read_file(path) == before);
}

TEST_CASE("A process that is killed in a migration leaves the old version as it was") {
  const TemporaryFolder folder;
  const auto path = make_version_1(folder.path());
  const pid_t child = fork();
  if (child == 0) {
    auto connection = connect(path);
    // Pages go to the file before the end, so that it is rolled back from its journal.
    connection.execute("PRAGMA cache_size = 1; PRAGMA cache_spill = 1");
    std::vector<Migration> steps(migrations().begin(), migrations().end());
    steps.push_back({"UPDATE trial SET detail = hex(zeroblob(100000))",
                     [](sqlite::Connection&) { kill(getpid(), SIGKILL); }});
    migrate(connection, steps);
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK(fs::exists(path.string() + "-journal"));
  {
    auto connection = connect(path);
    CHECK(connection.integer("PRAGMA user_version") == 1);
    CHECK(connection.text("PRAGMA integrity_check") == "ok");
    CHECK(count(connection, "config WHERE knobs GLOB '*stages_d=1*'") == "2");
  }
  CHECK(Store::open(options(path))->winners().size() == 7);
  CHECK(connect(path).integer("PRAGMA user_version") == schema_version());
}

TEST_CASE("Eight processes find a file of version 1 at once, and each has its winners") {
  const TemporaryFolder folder;
  const auto path = make_version_1(folder.path());
  Processes processes(8, [&](int number, const Processes::Say&) -> std::string {
    const auto store = Store::open(options(path));
    const Record record = sample::record(number + 1);
    const bool stored = store->put(record, sample::source(), sample::binary(), {}).stored;
    const auto winners = store->winners();
    const bool migrated = std::any_of(winners.begin(), winners.end(), [](const Record& winner) {
      return to_text(winner.config) == kFirstConfig;
    });
    return store->health().warnings.empty() && stored && migrated ? "" : "not migrated";
  });
  processes.wait();
  CHECK(processes.complaints() == std::vector<std::string>());
  CHECK(Store::open(options(path))->winners().size() == 7 + 8);
}

TEST_CASE("What can be read of a damaged file of version 1 is brought forward") {
  const TemporaryFolder folder;
  const auto path = make_version_1(folder.path());
  damage_table(path, "request");
  const auto store = Store::open(options(path));
  store->note_request(cube(64), sample::device(), 1);
  store->flush();
  const auto winners = store->winners();
  CHECK(winners.size() == 7);
  CHECK(std::any_of(winners.begin(), winners.end(),
                    [](const Record& record) { return to_text(record.config) == kFirstConfig; }));
  CHECK(connect(path).integer("PRAGMA user_version") == schema_version());
}

namespace {

// A file of this version that is older than two fields of a problem.
fs::path make_file_without_columns(const fs::path& folder) {
  const fs::path path = folder / "cache.db";
  {
    const auto store = Store::open(sample::options(path));
    Record warm = sample::record(64);
    warm.problem.regime = Regime::kWarm;
    CHECK(store->put(warm, sample::source(), sample::binary(), {}).stored);
    CHECK(store->put(sample::record(128), sample::source(), sample::binary(), {}).stored);
  }
  connect(path).execute(
      "ALTER TABLE problem DROP COLUMN regime; ALTER TABLE problem DROP COLUMN alignment_a");
  return path;
}

// What a newer library makes of a file when a field has come.
void add_unknown_column(const fs::path& path) {
  connect(path).execute("ALTER TABLE problem ADD COLUMN parts INTEGER NOT NULL DEFAULT 1");
}

}  // namespace

TEST_CASE("A file that lacks a field's column is given it, filled from the problems' texts") {
  const TemporaryFolder folder;
  const auto path = make_file_without_columns(folder.path());
  {
    const auto store = Store::open(sample::options(path));
    CHECK(store->health().state == StoreState::kReadWrite);
    CHECK(store->winners().size() == 2);
    CHECK(store->put(sample::record(32), sample::source(), sample::binary(), {}).stored);
  }
  {
    auto connection = connect(path);
    CHECK(connection.integer("PRAGMA user_version") == schema_version());
    CHECK(connection.text("SELECT group_concat(m || ' ' || regime || ' ' || alignment_a, ', ') "
                          "FROM (SELECT * FROM problem ORDER BY m)") ==
          "32 cold 16, 64 warm 16, 128 cold 16");
    CHECK(connection.text("SELECT type || ' ' || \"notnull\" || ' ' || dflt_value "
                          "FROM pragma_table_info('problem') WHERE name = 'regime'") ==
          "TEXT 1 'cold'");
    CHECK(connection.text("PRAGMA integrity_check") == "ok");
  }
  const std::string before = read_file(path);
  CHECK(Store::open(sample::options(path))->winners().size() == 3);
  CHECK(read_file(path) == before);
}

TEST_CASE("A file that lacks a field's column and may only be read is left alone and read") {
  const TemporaryFolder folder;
  const auto path = make_file_without_columns(folder.path());
  const std::string before = read_file(path);
  auto layered = sample::options(folder.path() / "own.db");
  layered.system_paths = {path};
  const auto store = Store::open(layered);
  CHECK(store->health().warnings.empty());
  CHECK(store->winners().size() == 2);
  CHECK(store->find(sample::problem(128), sample::device(), sample::toolchain(), sample::limits()));
  CHECK(store->put(sample::record(32), sample::source(), sample::binary(), {}).stored);
  CHECK(store->winners().size() == 3);
  CHECK(read_file(path) == before);
}

TEST_CASE("A file that lacks a winner's remark is given it, or read as if there were none") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "cache.db";
  {
    const auto store = Store::open(sample::options(path));
    CHECK(store->put(sample::record(64), sample::source(), sample::binary(), {}).stored);
  }
  connect(path).execute(
      "PRAGMA user_version = 3; "
      "DROP VIEW best; DROP VIEW winner_v1; ALTER TABLE winner DROP COLUMN remark; "
      "DROP VIEW missing; ALTER TABLE request DROP COLUMN name; "
      "CREATE VIEW best AS SELECT 1 AS device; "
      "CREATE VIEW winner_v1 AS SELECT median_us FROM winner");
  const std::string before = read_file(path);
  {
    auto layered = sample::options(folder.path() / "own.db");
    layered.system_paths = {path};
    const auto store = Store::open(layered);
    CHECK(store->health().warnings.empty());
    REQUIRE(store->winners().size() == 1);
    CHECK(store->winners().front().remark.empty());
    CHECK(read_file(path) == before);
  }
  const auto store = Store::open(sample::options(path));
  CHECK(store->health().state == StoreState::kReadWrite);
  REQUIRE(store->winners().size() == 1);
  CHECK(store->winners().front().remark.empty());
  CHECK(store->put(sample::record(32), sample::source(), sample::binary(), {}).stored);
  CHECK(connect(path).text("SELECT remark FROM best WHERE m = 32") == sample::record(32).remark);
  CHECK(connect(path).text("SELECT remark || spread_percent FROM best WHERE m = 64") == "4.0");
}

TEST_CASE("A file with a field that is not known here is read and written") {
  const TemporaryFolder folder;
  const auto path = make_file_without_columns(folder.path());
  add_unknown_column(path);
  connect(path).execute(
      "UPDATE problem SET parts = 4, text = text || ' parts=4', fingerprint = 'of four parts' "
      "WHERE m = 64");
  {
    const auto store = Store::open(sample::options(path));
    CHECK(store->health().warnings.empty());
    CHECK(store->put(sample::record(32), sample::source(), sample::binary(), {}).stored);
    CHECK(store->winners().size() == 2);
  }
  CHECK(connect(path).text("SELECT group_concat(m || ' ' || parts, ', ') "
                           "FROM (SELECT * FROM problem ORDER BY m)") == "32 1, 64 4, 128 1");
}

TEST_CASE("What can be read of a damaged file with an unknown column is kept") {
  const TemporaryFolder folder;
  const auto path = make_file_without_columns(folder.path());
  add_unknown_column(path);
  damage_table(path, "request");
  const auto store = Store::open(sample::options(path));
  store->note_request(cube(64), sample::device(), 1);
  store->flush();
  CHECK(store->winners().size() == 2);
  CHECK(connect(path).text("SELECT regime FROM problem WHERE m = 64") == "warm");
}

namespace {

// The sample's device as drivers have told it that keep so many MB for themselves.
DeviceIdentity device_less(std::int64_t megabytes) {
  DeviceIdentity device = sample::device();
  device.memory_bytes -= megabytes << 20;
  return device;
}

// Of version 2: devices with their memory in bytes.
fs::path make_version_2(const fs::path& folder) {
  fs::path path = folder / "cache.db";
  {
    const auto store = Store::open(sample::options(path));
    const auto put = [&](std::int64_t m, std::int64_t less, double median_us, Rigor rigor,
                         const std::string& tuned_at) {
      Record record = sample::record(m, median_us, rigor);
      record.device = device_less(less);
      record.tuned_at = tuned_at;
      CHECK(store->put(record, sample::source(m), sample::binary(), {sample::trial(64, median_us)})
                .stored);
    };
    put(1, 203, 10, Rigor::kNormal, "2026-01-01 00:00:00");
    put(2, 204, 20, Rigor::kNormal, "2026-01-02 00:00:00");
    put(3, 0, 30, Rigor::kNormal, "2026-01-03 00:00:00");
    // The same problem on all three.
    put(4, 203, 40, Rigor::kNormal, "2026-01-01 00:00:00");
    put(4, 204, 41, Rigor::kExhaustive, "2026-01-02 00:00:00");
    put(4, 0, 42, Rigor::kQuick, "2026-01-03 00:00:00");
    put(5, 2000, 50, Rigor::kNormal, "2026-01-01 00:00:00");  // a device with 2 GB less
    for (const int less : {203, 204, 204}) {
      store->note_request(sample::problem(9), device_less(less), 1);
    }
    store->flush();
    store->mark_in_flight(sample::problem(8), device_less(203), sample::toolchain(), "sample", {},
                          "");
  }
  connect(path).execute(
      "DROP VIEW best; DROP VIEW winner_v1; DROP VIEW missing; DROP INDEX problem_neighbours; "
      "ALTER TABLE request DROP COLUMN name; ALTER TABLE winner DROP COLUMN remark; "
      "PRAGMA user_version = 2");
  return path;
}

std::string medians_on(const Store& store, const DeviceIdentity& device) {
  std::string text;
  for (int m = 1; m <= 5; ++m) {
    const auto hit = store.find(sample::problem(m), device, sample::toolchain(), sample::limits());
    text += hit ? std::to_string(static_cast<int>(hit->record.measurement.median_us)) + " " : "- ";
  }
  return text;
}

}  // namespace

TEST_CASE("Devices of version 2 that differ by some MB of memory become one, with all winners") {
  const TemporaryFolder folder;
  const auto path = make_version_2(folder.path());
  const DeviceIdentity device = sample::device();
  REQUIRE(in_whole_gib(device_less(203).memory_bytes) == device.memory_bytes);
  {
    const auto store = Store::open(sample::options(path));
    CHECK(store->health().warnings.empty());
    CHECK(medians_on(*store, device) == "10 20 30 41 - ");
    DeviceIdentity smaller = device_less(2000);
    smaller.memory_bytes = in_whole_gib(smaller.memory_bytes);
    CHECK(medians_on(*store, smaller) == "- - - - 50 ");
    CHECK(store->winners().size() == 5);
    for (int m = 1; m <= 4; ++m) {
      CHECK(store->trials(sample::problem(m), device, sample::toolchain()).size() == 1);
    }
    const auto requests = store->requests(device);
    REQUIRE(requests.size() == 1);
    CHECK(requests[0].calls == 3);
  }
  auto connection = connect(path);
  CHECK(count(connection, "device") == "2");
  CHECK(count(connection, "device WHERE memory_bytes % (1 << 30) <> 0") == "0");
  CHECK(count(connection, "lease") == "1");
  CHECK(count(connection, "best WHERE state = 'confirmed'") == "5");
  CHECK(connection.text("PRAGMA integrity_check") == "ok");
  CHECK(connection.text("PRAGMA foreign_key_check").empty());
}

TEST_CASE("A winner of a template that has changed gives way to a current one of the same device") {
  const TemporaryFolder folder;
  const auto path = make_version_2(folder.path());
  connect(path).execute(
      "UPDATE winner SET family_fingerprint = 'before' WHERE rigor = 4 OR tuned_at < '2026-01-02'");
  const auto store = Store::open(sample::options(path));
  CHECK(medians_on(*store, sample::device()) == "- 20 30 42 - ");
}

TEST_CASE("A file of version 2 that may only be read has the winners of devices in bytes") {
  const TemporaryFolder folder;
  const auto path = make_version_2(folder.path());
  const std::string before = read_file(path);
  auto layered = sample::options(folder.path() / "own.db");
  layered.system_paths = {path};
  const auto store = Store::open(layered);
  CHECK(store->health().warnings.empty());
  CHECK(medians_on(*store, sample::device()) == "10 20 30 41 - ");
  CHECK(store->neighbours(sample::problem(2), sample::device(), 9).size() == 4);
  CHECK(read_file(path) == before);
}
