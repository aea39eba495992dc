// A store is opened while another process repairs the file. This test acts as the other process: it
// holds the repair lock, and puts the files into a state that occurs during a repair.

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "cache/file/lock_file.h"
#include "cache/sqlite/sqlite.h"
#include "cache/store.h"
#include "tests/cache/support/sample.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

using namespace tunedgemm::internal;
namespace fs = std::filesystem;

namespace {

void fill(const fs::path& path, int winners) {
  auto options = sample::options(path);
  options.journal = StoreOptions::Journal::kRollback;
  const auto store = Store::open(options);
  for (int m = 1; m <= winners; ++m) {
    CHECK(store->put(sample::record(m), sample::source(m), sample::binary(), {}).stored);
  }
}

std::string all_warnings(const Store& store) {
  std::string text;
  for (const std::string& warning : store.health().warnings) {
    text += warning + "\n";
  }
  return text;
}

sqlite::Connection connect(const fs::path& path) {
  return sqlite::Connection::open(path, sqlite::Connection::Mode::kReadWrite, 0);
}

// A damaged cache with an intact application id.
void write_damaged(const fs::path& path) {
  std::ofstream(path) << std::string(68, 'x') + "tgem" + std::string(5000, 'x');
}

// An unreadable file that SQLite takes for the journal of a dead process.
fs::path make_unreadable_journal(const fs::path& path) {
  const fs::path journal = path.string() + "-journal";
  fs::create_directory(journal);
  try {
    connect(path).integer("SELECT count(*) FROM winner");
    FAIL("a journal that cannot be read did no harm");
  } catch (const sqlite::Error& error) {
    REQUIRE(error.code() == SQLITE_IOERR);
  }
  return journal;
}

// A repair by another process. It ends after others have begun to open the file.
class Repair {
 public:
  Repair(const fs::path& path, std::function<void()> finish)
      : lock_file_(path), thread_([this, finish = std::move(finish)] {
          const LockFile::Held held(lock_file_, 1000);
          begun_ = static_cast<bool>(held);
          std::this_thread::sleep_for(std::chrono::milliseconds(200));
          finish();
          done_ = true;
        }) {
    while (!begun_) {
      std::this_thread::yield();
    }
  }
  ~Repair() { thread_.join(); }
  Repair(const Repair&) = delete;
  Repair& operator=(const Repair&) = delete;

  bool done() const { return done_; }

 private:
  LockFile lock_file_;
  std::atomic<bool> begun_{false}, done_{false};
  std::thread thread_;
};

}  // namespace

TEST_CASE("A writer waits for the repair if the journal is being moved aside") {
  const TemporaryFolder folder;
  auto options = sample::options(folder.path() / "cache.db");
  fill(options.path, 3);
  options.access = GENERATE(StoreOptions::Access::kReadWrite, StoreOptions::Access::kReadOnly);
  const fs::path journal = make_unreadable_journal(options.path);
  const Repair repair(options.path, [&] { fs::remove(journal); });
  const auto store = Store::open(options);
  CHECK(repair.done());
  INFO(all_warnings(*store));
  CHECK(store->health().warnings.empty());
  CHECK(store->health().winners == 3);
}

TEST_CASE("A reader waits for the repair of a damaged file") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "cache.db", repaired = folder.path() / "repaired.db";
  fill(repaired, 3);
  write_damaged(path);
  const bool is_system_file = GENERATE(false, true);
  auto options = sample::options(is_system_file ? folder.path() / "own.db" : path);
  if (is_system_file) {
    options.system_paths = {path};
  } else {
    options.access = StoreOptions::Access::kReadOnly;
  }
  const Repair repair(path, [&] { fs::rename(repaired, path); });
  const auto store = Store::open(options);
  CHECK(repair.done());
  INFO(all_warnings(*store));
  CHECK(store->health().warnings.empty());
  CHECK(store->health().winners == 3);
}

TEST_CASE("A reader opens the new file if the one it was opening is replaced") {
  const TemporaryFolder folder;
  auto options = sample::options(folder.path() / "cache.db");
  const fs::path repaired = folder.path() / "repaired.db";
  fill(options.path, 1);
  fill(repaired, 3);
  // As during a repair, nobody can read the file until the new one has its name.
  auto old = connect(options.path);
  old.execute("BEGIN EXCLUSIVE");
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    fs::rename(repaired, options.path);
    old.execute("COMMIT");
  });
  options.access = StoreOptions::Access::kReadOnly;
  const auto store = Store::open(options);
  other.join();
  CHECK(store->health().warnings.empty());
  CHECK(store->health().winners == 3);
}

TEST_CASE("A reader of a damaged file that nobody repairs says so soon, and changes nothing") {
  const TemporaryFolder folder;
  auto options = sample::options(folder.path() / "cache.db");
  options.access = StoreOptions::Access::kReadOnly;
  write_damaged(options.path);
  const auto begin = std::chrono::steady_clock::now();
  const auto store = Store::open(options);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(2000));
  CHECK(store->health().state == StoreState::kMemoryOnly);
  CHECK_THAT(all_warnings(*store), Catch::Matchers::ContainsSubstring("cannot be read"));
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
}
