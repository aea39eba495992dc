// The file system, another process or the file itself causes trouble. No call may fail, health()
// must report the trouble, and nothing that can be kept may be lost.

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <thread>

#include "cache/file/lock_file.h"
#include "cache/replace_file.h"
#include "cache/sqlite/schema.h"
#include "cache/sqlite/sqlite.h"
#include "cache/store.h"
#include "tests/cache/support/sample.h"
#include "tests/support/catch.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

using namespace tunedgemm::internal;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

bool put(Store& store, std::int64_t m, double median_us = 12.5) {
  return store.put(sample::record(m, median_us), sample::source(m), sample::binary(3000), {})
      .stored;
}

bool has(const Store& store, std::int64_t m) {
  return store.find(sample::key(m), sample::limits()).has_value();
}

// Every call of a user, on a store in any state.
void check_works(Store& store) {
  CHECK(put(store, 1));
  CHECK(has(store, 1));
  CHECK(store.find_binary(sample::source(1), sample::toolchain(), 90));
  store.put_trial(sample::key(1), sample::trial(64, 1));
  CHECK(store.trials(sample::key(1)).size() == 1);
  CHECK(store.acquire(sample::key(1), 0));
  store.flush();
}

std::string all_warnings(const Store& store) {
  std::string text;
  for (const std::string& warning : store.health().warnings) {
    text += warning + "\n";
  }
  return text;
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Overwrites a part of a file, like a failing disk.
void overwrite(const fs::path& path, std::int64_t offset, const std::string& bytes) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(offset);
  file << bytes;
}

int count_aside(const fs::path& folder) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    count += entry.path().filename().string().find(".corrupt") != std::string::npos ? 1 : 0;
  }
  return count;
}

void fill(const fs::path& path, int winners) {
  const auto store = Store::open(sample::options(path));
  for (int m = 1; m <= winners; ++m) {
    CHECK(put(*store, m));
  }
}

int count_found(const Store& store, int winners) {
  int count = 0;
  for (int m = 1; m <= winners; ++m) {
    count += has(store, m) ? 1 : 0;
  }
  return count;
}

sqlite::Connection connect(const fs::path& path) {
  return sqlite::Connection::open(path, sqlite::Connection::Mode::kReadWrite, 0);
}

// If the tests run as root, takes the rights of a user who owns nothing.
class AsNobody {
 public:
  [[nodiscard]] AsNobody() : was_root_(getuid() == 0) {
    if (was_root_) {
      REQUIRE(setresuid(65534, 65534, 0) == 0);
    }
  }
  ~AsNobody() {
    if (was_root_) {
      (void)!setresuid(0, 0, 0);
    }
  }

 private:
  bool was_root_;
};

}  // namespace

TEST_CASE("A file that is not a cache is left alone") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  write_file(path, GENERATE(std::string(5000, 'x'), std::string("x"), std::string(100'000, '\0')));
  fs::permissions(path, fs::perms(0644));
  const std::string before = read_file(path);
  {
    const auto store = Store::open(sample::options(path));
    CHECK(store->health().state == StoreState::kMemoryOnly);
    CHECK_THAT(all_warnings(*store),
               ContainsSubstring(path.string() + " is not a cache of this library but a file that "
                                                 "is no SQLite database, and is left alone") &&
                   ContainsSubstring("Name another file with --cache or TUNEDGEMM_CACHE, or remove "
                                     "this one"));
    check_works(*store);
  }
  CHECK(read_file(path) == before);
  CHECK(fs::status(path).permissions() == fs::perms(0644));
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("An empty file becomes a database") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  write_file(path, "");
  const auto store = Store::open(sample::options(path));
  CHECK(store->health().state == StoreState::kReadWrite);
  check_works(*store);
  CHECK(count_aside(folder.path()) == 0);
}

TEST_CASE("A file whose damage shows only in use is set aside in use") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  constexpr int kWinners = 60;
  fill(path, kWinners);
  const auto bytes = static_cast<std::int64_t>(fs::file_size(path));
  const int stride = GENERATE(2, 3, 5);
  for (std::int64_t page = bytes / 4096 / 2; page < bytes / 4096; page += stride) {
    overwrite(path, page * 4096, std::string(4096, '\x5a'));
  }
  const auto store = Store::open(sample::options(path));
  count_found(*store, kWinners);
  for (int m = 1; m <= kWinners; ++m) {
    CHECK(put(*store, m));
  }
  CHECK(count_found(*store, kWinners) == kWinners);
  CHECK(store->health().state == StoreState::kReadWrite);
  check_works(*store);
  INFO(all_warnings(*store));
  CHECK(connect(path).text("PRAGMA integrity_check") == "ok");
}

TEST_CASE("A stored binary with a changed byte is a miss that heals itself") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  fill(path, 3);
  {
    auto connection = connect(path);
    connection.execute("UPDATE kernel SET code = zeroblob(3000) WHERE id = 2");
    CHECK(connection.text("PRAGMA integrity_check") == "ok");
  }
  const auto store = Store::open(sample::options(path));
  CHECK(store->find_binary(sample::source(1), sample::toolchain(), 90));
  CHECK_FALSE(store->find_binary(sample::source(2), sample::toolchain(), 90));
  CHECK_THAT(all_warnings(*store),
             ContainsSubstring("1 stored binaries did not match their stored hash"));
  CHECK(has(*store, 2));
  store->put_binary(sample::source(2), sample::toolchain(), 90, sample::binary(3000));
  CHECK(store->find_binary(sample::source(2), sample::toolchain(), 90));
}

TEST_CASE("A damaged binary in a read-only file is counted once, and writes nothing") {
  const TemporaryFolder folder;
  const auto system_path = folder.path() / "system.db", path = folder.path() / "cache.db";
  fill(system_path, 2);
  connect(system_path).execute("UPDATE kernel SET code = zeroblob(3000) WHERE id = 2");
  StoreOptions options = sample::options(path);
  options.system_paths = {system_path};
  const auto store = Store::open(options);
  auto watcher = connect(path);
  CHECK_FALSE(store->find_binary(sample::source(2), sample::toolchain(), 90));
  const std::int64_t version = watcher.integer("PRAGMA data_version");
  for (int look_up = 0; look_up < 3; ++look_up) {
    CHECK_FALSE(store->find_binary(sample::source(2), sample::toolchain(), 90));
  }
  CHECK(watcher.integer("PRAGMA data_version") == version);
  CHECK_THAT(all_warnings(*store), ContainsSubstring("1 stored binaries did not match"));
}

TEST_CASE("A path that cannot be a file gives a store in memory") {
  const TemporaryFolder folder;
  write_file(folder.path() / "file", "text");
  const std::vector<fs::path> paths{folder.path(), folder.path() / "file" / "cache.db",
                                    "/proc/tunedgemm/cache.db", "/dev/null"};
  const fs::path path = paths.at(GENERATE(0U, 1U, 2U, 3U));
  const auto store = Store::open(sample::options(path));
  CHECK(store->health().state == StoreState::kMemoryOnly);
  CHECK_THAT(all_warnings(*store), ContainsSubstring(path.string()));
  CHECK_THAT(all_warnings(*store), ContainsSubstring("TUNEDGEMM_CACHE"));
  check_works(*store);
}

TEST_CASE("The database of another program is left alone") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  write_file(path, "");
  connect(path).execute("CREATE TABLE precious (x); INSERT INTO precious VALUES (1)");
  const std::string before = read_file(path);
  const auto store = Store::open(sample::options(path));
  CHECK(store->health().state == StoreState::kMemoryOnly);
  CHECK_THAT(all_warnings(*store),
             ContainsSubstring("the SQLite database of another program, and is left alone"));
  check_works(*store);
  CHECK(read_file(path) == before);
  auto options = sample::options(folder.path() / "own.db");
  options.system_paths = {path};
  CHECK_THAT(all_warnings(*Store::open(options)), ContainsSubstring("TUNEDGEMM_SYSTEM_CACHE"));
}

TEST_CASE("A result with a value that is not allowed fails alone, and the file stays") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  fill(path, 1);
  const auto in_memory = GENERATE(false, true);
  auto options = sample::options(path);
  options.access = in_memory ? StoreOptions::Access::kMemoryOnly : StoreOptions::Access::kReadWrite;
  {
    const auto store = Store::open(options);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (int time = 0; time < 5; ++time) {
      store->note_request(sample::problem(100 + time), sample::device(), 1);
      CHECK_FALSE(put(*store, 50, nan));
      CHECK_FALSE(has(*store, 50));
      TrialRecord trial = sample::trial(64, 1);
      trial.max_error = nan;
      // A winner is stored together with its trials or not at all.
      CHECK_FALSE(
          store->put(sample::record(51), sample::source(51), sample::binary(), {trial}).stored);
      CHECK_FALSE(has(*store, 51));
      store->put_trial(sample::key(2), trial);
      store->flush();
      CHECK(put(*store, 2 + time));
      CHECK(has(*store, 2 + time));
    }
    CHECK(store->requests(sample::device()).size() == 5);
    CHECK(store->state() == (in_memory ? StoreState::kMemoryOnly : StoreState::kReadWrite));
    INFO(all_warnings(*store));
    CHECK(store->health().warnings.size() == 2);
    CHECK_THAT(all_warnings(*store),
               ContainsSubstring("NOT NULL constraint failed: winner.median_us"));
    check_works(*store);
  }
  CHECK(count_aside(folder.path()) == 0);
  CHECK(connect(path).integer("SELECT count(*) FROM winner") == (in_memory ? 1 : 6));
}

TEST_CASE("A file of a newer version is read and never written") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  fill(path, 3);
  {
    // A later version may have other tables behind the same views.
    auto connection = connect(path);
    connection.execute(
        "PRAGMA user_version = 99; ALTER TABLE trial RENAME TO attempt; "
        "ALTER TABLE winner ADD COLUMN p_best REAL; ALTER TABLE request RENAME TO wish");
  }
  const std::string before = read_file(path);
  {
    const auto store = Store::open(sample::options(path));
    CHECK(store->health().state == StoreState::kReadOnly);
    CHECK_THAT(all_warnings(*store), ContainsSubstring("newer version"));
    CHECK(has(*store, 3));
    CHECK(store->find_binary(sample::source(3), sample::toolchain(), 90));
    check_works(*store);
    store->note_request(sample::problem(9), sample::device(), 1);
  }
  CHECK(read_file(path) == before);
}

TEST_CASE("A file that becomes newer while it is open is no longer written") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  const auto store = Store::open(sample::options(path));
  CHECK(put(*store, 1));
  connect(path).execute("PRAGMA user_version = 99");
  CHECK(put(*store, 2));
  CHECK(store->health().state == StoreState::kReadOnly);
  CHECK(has(*store, 1));
  CHECK(has(*store, 2));
  CHECK(connect(path).integer("SELECT count(*) FROM winner") == 1);
}

TEST_CASE("A file that is locked at the start gives a store in memory") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  fill(path, 1);
  auto other = connect(path);
  other.execute("BEGIN EXCLUSIVE");
  auto options = sample::options(path);
  options.busy_timeout_ms = 50;
  const auto store = Store::open(options);
  CHECK(store->health().state == StoreState::kMemoryOnly);
  CHECK_THAT(all_warnings(*store), ContainsSubstring("locked"));
  check_works(*store);
}

TEST_CASE("A store knows its state without reading the file") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  fill(path, 1);
  const auto store = Store::open(sample::options(path));
  auto options = sample::options(path);
  options.access = StoreOptions::Access::kReadOnly;
  const auto reader = Store::open(options);
  options.access = StoreOptions::Access::kMemoryOnly;
  auto other = connect(path);
  other.execute("BEGIN EXCLUSIVE");
  const auto begin = std::chrono::steady_clock::now();
  CHECK(store->state() == StoreState::kReadWrite);
  CHECK(reader->state() == StoreState::kReadOnly);
  CHECK(Store::open(options)->state() == StoreState::kMemoryOnly);
  // Unlike health(), state() does not wait for the lock.
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(1));
}

TEST_CASE("Rows stored while the file is locked are written once it is free") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  auto options = sample::options(path);
  options.busy_timeout_ms = 50;
  options.journal = GENERATE(StoreOptions::Journal::kRollback, StoreOptions::Journal::kWriteAhead);
  {
    const auto store = Store::open(options);
    CHECK(put(*store, 1));
    CHECK(has(*store, 1));
    {
      auto other = connect(path);
      other.execute("BEGIN EXCLUSIVE");
      CHECK(put(*store, 2));
      CHECK(has(*store, 1));
      CHECK(has(*store, 2));
      CHECK(store->find_binary(sample::source(2), sample::toolchain(), 90));
      store->note_request(sample::problem(3), sample::device(), 1);
      store->flush();
    }
    CHECK(store->health().state == StoreState::kReadWrite);
    CHECK_THAT(all_warnings(*store), ContainsSubstring("could not be written"));
    store->flush();
    CHECK(connect(path).integer("SELECT count(*) FROM winner") == 2);
    CHECK(connect(path).integer("SELECT calls FROM request") == 1);
    CHECK(has(*store, 2));
  }
  const auto store = Store::open(options);
  CHECK(has(*store, 2));
  CHECK(connect(path).integer("SELECT calls FROM request") == 1);
}

TEST_CASE("A winner that cannot be forgotten is a failure, and stays when the file is free") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  auto options = sample::options(path);
  options.busy_timeout_ms = 50;
  {
    const auto store = Store::open(options);
    REQUIRE(put(*store, 1));
    {
      auto other = connect(path);
      other.execute("BEGIN EXCLUSIVE");
      CHECK(
          store->forget({sample::key(1)}) ==
          ForgetResult{.failure = "cannot write " + path.string() + ", so nothing was forgotten"});
    }
    store->flush();
    CHECK(put(*store, 2));
  }
  options.access = StoreOptions::Access::kReadOnly;
  const auto reader = Store::open(options);
  CHECK_FALSE(reader->forget({sample::key(1)}).failure.empty());
  CHECK(has(*Store::open(options), 1));
}

TEST_CASE("A stuck queue of writers is waited for only once") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  auto options = sample::options(path);
  options.busy_timeout_ms = 500;
  const auto store = Store::open(options);
  REQUIRE(put(*store, 1));
  const LockFile lock_file(path);
  const LockFile::Held stuck(lock_file, 0);
  REQUIRE(stuck);
  const auto begin = std::chrono::steady_clock::now();
  constexpr int kPuts = 8;
  for (int m = 2; m < 2 + kPuts; ++m) {
    CHECK(put(*store, m));
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(kPuts * 500));
  CHECK(connect(path).integer("SELECT count(*) FROM winner") == 1 + kPuts);
}

TEST_CASE("Rows stored while the disk is full are written once there is room") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  const auto store = Store::open(sample::options(path));
  CHECK(put(*store, 1));

  struct rlimit unlimited {};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &unlimited) == 0);
  struct rlimit full = unlimited;
  full.rlim_cur = fs::file_size(path);
  const auto previous = signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &full) == 0);
  const bool stored =
      store->put(sample::record(2), sample::source(2), sample::binary(std::size_t{1} << 20), {})
          .stored;
  const bool found = has(*store, 2);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &unlimited) == 0);
  signal(SIGXFSZ, previous);

  CHECK(stored);
  CHECK(found);
  CHECK_THAT(all_warnings(*store), ContainsSubstring("could not be written"));
  CHECK(connect(path).integer("SELECT count(*) FROM winner") == 1);
  store->flush();
  CHECK(connect(path).integer("SELECT count(*) FROM winner") == 2);
  CHECK(connect(path).text("PRAGMA integrity_check") == "ok");
}

TEST_CASE("A file in a folder that cannot be written is read") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "system" / "cache.db";
  auto options = sample::options(path);
  options.journal = GENERATE(StoreOptions::Journal::kRollback, StoreOptions::Journal::kWriteAhead);
  {
    const auto store = Store::open(options);
    CHECK(put(*store, 1));
  }
  fs::permissions(path, fs::perms(0444));
  fs::permissions(path.parent_path(), fs::perms(0555));
  fs::permissions(folder.path(), fs::perms(0755));
  {
    const AsNobody nobody;
    const auto store = Store::open(options);
    CHECK(store->health().state == StoreState::kReadOnly);
    CHECK(has(*store, 1));
    CHECK(put(*store, 2));
    CHECK(has(*store, 2));
    check_works(*store);

    auto layered = sample::options(folder.path() / "none" / "cache.db");
    layered.system_paths = {path};
    const auto memory = Store::open(layered);
    CHECK(memory->health().state == StoreState::kMemoryOnly);
    CHECK(has(*memory, 1));
  }
  fs::permissions(path.parent_path(), fs::perms(0755));
  auto connection = connect(path);
  CHECK(connection.integer("SELECT count(*) FROM winner") == 1);
}

TEST_CASE("A file that cannot be read gives a store in memory") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  fill(path, 1);
  fs::permissions(path, fs::perms(0000));
  fs::permissions(folder.path(), fs::perms(0777));
  const AsNobody nobody;
  const auto store = Store::open(sample::options(path));
  CHECK(store->health().state == StoreState::kMemoryOnly);
  check_works(*store);
}

TEST_CASE("A file that is removed while it is open is created again") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  const auto store = Store::open(sample::options(path));
  CHECK(put(*store, 1));
  fs::remove(path);
  CHECK(put(*store, 2));
  CHECK(connect(path).integer("SELECT count(*) FROM winner") == 1);
  CHECK(store->health().state == StoreState::kReadWrite);
}

TEST_CASE("What killed builds left is removed, and no file of the user") {
  const TemporaryFolder folder;
  const auto at = [&](const std::string& name) { return folder.path() / name; };
  const auto store = Store::open(sample::options(at("cache.db")));
  REQUIRE(put(*store, 1));
  REQUIRE(store->export_to(at("first.db")).empty());
  fs::copy_file(at("first.db"), at("old.db.new-a1B2c3"));
  write_file(at("copy.db.new-XyZ019"), "");
  write_file(at("copy.db.new-zeroes"), std::string(8192, '\0'));
  const std::vector<std::string> of_user{
      "copy.db.new-notes.txt", "copy.db.new-2025.csv", "copy.db.new-backup", "copy.db.new-a1B2c",
      "copy.db.new-a1B2c3d",   "copy.db.new-a1-2c3",   ".new-a1B2c3",        "copy.db-a1B2c3"};
  for (const std::string& name : of_user) {
    write_file(at(name), name == "copy.db.new-backup" ? std::string("text") : std::string());
  }
  write_file(at("young.db.new-a1B2c3"), "");
  fs::create_directory(at("folder.db.new-a1B2c3"));
  fs::create_symlink(at("copy.db.new-XyZ019"), at("link.db.new-a1B2c3"));
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    if (entry.path().filename().string().find("new-") != std::string::npos &&
        entry.path().filename() != "young.db.new-a1B2c3" && !entry.is_symlink()) {
      fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::hours(2));
    }
  }
  REQUIRE(store->export_to(at("copy.db")).empty());
  CHECK_FALSE(fs::exists(at("old.db.new-a1B2c3")));
  CHECK_FALSE(fs::exists(at("copy.db.new-XyZ019")));
  CHECK_FALSE(fs::exists(at("copy.db.new-zeroes")));
  for (const std::string& name : of_user) {
    CAPTURE(name);
    CHECK(fs::exists(at(name)));
  }
  CHECK(fs::exists(at("young.db.new-a1B2c3")));
  CHECK(fs::exists(at("folder.db.new-a1B2c3")));
  CHECK(fs::is_symlink(at("link.db.new-a1B2c3")));
}

TEST_CASE("A file is replaced by a copy as a whole, or not at all") {
  const TemporaryFolder folder;
  const fs::path source = folder.path() / "source", target = folder.path() / "target";
  write_file(source, std::string(3'000'000, 'x'));
  fs::permissions(source, fs::perms::owner_read | fs::perms::group_read);
  write_file(target, "old");
  replace_by_copy(source, target);
  CHECK(fs::file_size(target) == 3'000'000);
  CHECK(fs::status(target).permissions() == (fs::perms::owner_read | fs::perms::group_read));
  REQUIRE_THROWS_AS(replace_by_copy(folder.path() / "absent", target), fs::filesystem_error);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{1'000'000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  std::error_code error;
  try {
    replace_by_copy(source, target);
  } catch (const fs::filesystem_error& failure) {
    error = failure.code();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(error == std::errc::file_too_large);
  CHECK(fs::file_size(target) == 3'000'000);
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 2);
}

TEST_CASE("A store follows a file that is replaced while it is open") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache.db";
  fill(folder.path() / "other.db", 3);
  const auto store = Store::open(sample::options(path));
  CHECK(put(*store, 10));
  fs::rename(folder.path() / "other.db", path);
  CHECK(has(*store, 3));
  CHECK_FALSE(has(*store, 10));
  CHECK(put(*store, 11));
  CHECK(connect(path).integer("SELECT count(*) FROM winner") == 4);
}
