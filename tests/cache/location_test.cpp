#include "cache/file/location.h"

#include <cstdlib>
#include <optional>
#include <string>

#include "cache/store.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

using namespace tunedgemm::internal;
using Journal = StoreOptions::Journal;

namespace {

// Sets or unsets an environment variable during its lifetime.
class Environment {
 public:
  [[nodiscard]] Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) {
      before_ = before;
    }
    set(value);
  }
  ~Environment() { set(before_ ? before_->c_str() : nullptr); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  void set(const char* value) {
    if (value != nullptr) {
      setenv(name_, value, 1);
    } else {
      unsetenv(name_);
    }
  }
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("The store's file comes from the option, else the environment, else the home folder") {
  const Environment cache("TUNEDGEMM_CACHE", "/a/cache.db");
  const Environment xdg("XDG_CACHE_HOME", "/b");
  const Environment home("HOME", "/c");
  StoreOptions options;
  options.path = "/o/option.db";
  CHECK(store_path(options) == "/o/option.db");
  CHECK(store_path({}) == "/a/cache.db");
  {
    const Environment none("TUNEDGEMM_CACHE", nullptr);
    CHECK(store_path({}) == "/b/tunedgemm/tunedgemm.db");
    const Environment relative("XDG_CACHE_HOME", "relative");
    CHECK(store_path({}) == "/c/.cache/tunedgemm/tunedgemm.db");
    const Environment homeless("HOME", "");
    CHECK(store_path({}).empty());
    const auto store = Store::open({});
    CHECK(store->health().state == StoreState::kMemoryOnly);
    CHECK(store->health().warnings.size() == 1);
  }
  options.path = "here.db";
  CHECK(store_path(options) == std::filesystem::current_path() / "here.db");
}

TEST_CASE("System files come from the option, else from the environment") {
  const Environment system("TUNEDGEMM_SYSTEM_CACHE", "/a/x.db::/b/y.db");
  CHECK(system_store_paths({}) == std::vector<std::filesystem::path>{"/a/x.db", "/b/y.db"});
  StoreOptions options;
  options.system_paths = {"/c/z.db"};
  CHECK(system_store_paths(options) == options.system_paths);
}

TEST_CASE("A write-ahead log is chosen only on a local file system and with a fixed SQLite") {
  for (const int repaired : {3'044'006, 3'044'999, 3'050'007, 3'051'003, 3'053'000}) {
    CHECK(has_wal_reset_repair(repaired));
    CHECK(journal_for(Journal::kAutomatic, true, repaired) == Journal::kWriteAhead);
    CHECK(journal_for(Journal::kAutomatic, false, repaired) == Journal::kRollback);
  }
  for (const int broken : {3'040'001, 3'044'005, 3'045'000, 3'050'006, 3'051'000, 3'051'002}) {
    CHECK_FALSE(has_wal_reset_repair(broken));
    CHECK(journal_for(Journal::kAutomatic, true, broken) == Journal::kRollback);
  }
  CHECK(journal_for(Journal::kWriteAhead, false, 3'040'001) == Journal::kWriteAhead);
  CHECK(journal_for(Journal::kRollback, true, 3'051'003) == Journal::kRollback);
}

TEST_CASE("An unknown file system is not local") {
  CHECK_FALSE(is_on_local_file_system("/proc"));
  CHECK_FALSE(is_on_local_file_system("/no/such/folder"));
  const TemporaryFolder folder;
  StoreOptions options;
  options.path = folder.path() / "cache.db";
  CHECK(Store::open(options)->health().is_on_local_disk == is_on_local_file_system(folder.path()));
  options.access = StoreOptions::Access::kMemoryOnly;
  CHECK_FALSE(Store::open(options)->health().is_on_local_disk);
}

TEST_CASE("The file has the chosen journal mode") {
  const TemporaryFolder folder;
  StoreOptions options;
  options.path = folder.path() / "cache.db";
  options.journal = GENERATE(Journal::kWriteAhead, Journal::kRollback);
  const std::string expected = options.journal == Journal::kWriteAhead ? "wal" : "delete";
  CHECK(Store::open(options)->health().journal_mode == expected);
  options.journal = Journal::kAutomatic;
  CHECK(Store::open(options)->health().journal_mode == expected);
}
