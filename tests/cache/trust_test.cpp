// A file is used only if nobody but this user and root can change it.

#include "cache/trust.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

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

constexpr uid_t kSomebodyElse = 12345;

void write_file(const fs::path& path, const std::string& text = "text") {
  std::ofstream(path, std::ios::binary) << text;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void fill(const fs::path& path) {
  const auto store = Store::open(sample::options(path));
  CHECK(store->put(sample::record(1), sample::source(1), sample::binary(), {}).stored);
}

bool has_winner(const Store& store) {
  return store.find(sample::key(1), sample::limits()).has_value();
}

std::string all_warnings(const Store& store) {
  std::string text;
  for (const std::string& warning : store.health().warnings) {
    text += warning + "\n";
  }
  return text;
}

// Sets $TUNEDGEMM_TRUST during its lifetime.
class TrustedPaths {
 public:
  [[nodiscard]] explicit TrustedPaths(const std::string& paths) {
    setenv("TUNEDGEMM_TRUST", paths.c_str(), 1);
  }
  ~TrustedPaths() { unsetenv("TUNEDGEMM_TRUST"); }
};

// A path in its own safe folder, and one way to make it unsafe.
struct Unsafe {
  std::string what;
  bool needs_root;
  void (*make)(const fs::path& file);
};

const Unsafe kUnsafe[] = {
    {"the file can be written by its group", false,
     [](const fs::path& file) { fs::permissions(file, fs::perms(0660)); }},
    {"the file can be written by all", false,
     [](const fs::path& file) { fs::permissions(file, fs::perms(0602)); }},
    {"the folder can be written by its group", false,
     [](const fs::path& file) { fs::permissions(file.parent_path(), fs::perms(0770)); }},
    {"the folder can be written by all", false,
     [](const fs::path& file) { fs::permissions(file.parent_path(), fs::perms(0777)); }},
    {"the folder can be written by all and is sticky", false,
     [](const fs::path& file) { chmod(file.parent_path().c_str(), 01777); }},
    {"the folder above can be written by all", false,
     [](const fs::path& file) {
       fs::permissions(file.parent_path().parent_path(), fs::perms(0777));
     }},
    {"the file belongs to somebody else", true,
     [](const fs::path& file) { REQUIRE(chown(file.c_str(), kSomebodyElse, 0) == 0); }},
    {"the folder belongs to somebody else", true,
     [](const fs::path& file) {
       REQUIRE(chown(file.parent_path().c_str(), kSomebodyElse, 0) == 0);
     }},
    {"a link in a sticky folder", false,
     [](const fs::path& file) {
       const fs::path folder = file.parent_path();
       const fs::path above = folder.parent_path();
       fs::rename(folder, above.string() + "/real");
       fs::create_directory_symlink(above / "real", folder);
       chmod(above.c_str(), 01777);
     }},
};

}  // namespace

TEST_CASE("Trust: a file of this user or root is used, whatever links lead to it") {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "real");
  write_file(folder.path() / "real" / "file");
  fs::create_directory_symlink("real", folder.path() / "link");
  fs::create_symlink(folder.path() / "link" / "file", folder.path() / "real" / "other");
  const fs::path real = fs::canonical(folder.path()) / "real" / "file";
  for (const char* name : {"real/file", "link/file", "real/other", "link/../real/./other"}) {
    const Trust trust = examine_trust(folder.path() / name);
    INFO(name << ": " << trust.why_not);
    CHECK(trust);
    CHECK(trust.real_path == real);
  }
  CHECK(examine_trust("/bin/sh"));
}

TEST_CASE("Trust: a missing file is used if nobody else can create it") {
  const TemporaryFolder folder;
  const Trust trust = examine_trust(folder.path() / "a" / "b");
  CHECK(trust);
  CHECK(trust.real_path == fs::canonical(folder.path()) / "a" / "b");
  fs::permissions(folder.path(), fs::perms(0777));
  CHECK_FALSE(examine_trust(folder.path() / "a"));
  CHECK_FALSE(examine_trust(folder.path() / "a" / "b"));
}

TEST_CASE("Trust: a loop of links, and a file in place of a folder, are refused") {
  const TemporaryFolder folder;
  fs::create_symlink("loop", folder.path() / "loop");
  write_file(folder.path() / "file");
  CHECK_THAT(examine_trust(folder.path() / "loop").why_not, ContainsSubstring("followed"));
  CHECK_THAT(examine_trust(folder.path() / "file" / "x").why_not, ContainsSubstring("examined"));
}

TEST_CASE("A cache in an unsafe place is neither used nor changed, unless it is trusted") {
  const Unsafe& unsafe = kUnsafe[GENERATE(range(std::size_t{0}, std::size(kUnsafe)))];
  if (unsafe.needs_root && getuid() != 0) {
    TUNEDGEMM_SKIP("only root can give files away");
  }
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "above" / "own" / "cache.db";
  fill(path);
  unsafe.make(path);
  const std::string before = read_file(path);
  const bool is_system_file = GENERATE(false, true);
  auto options = sample::options(is_system_file ? folder.path() / "mine.db" : path);
  if (is_system_file) {
    options.system_paths = {path};
  }
  INFO(unsafe.what);
  {
    const auto store = Store::open(options);
    CHECK_THAT(all_warnings(*store), ContainsSubstring(path.string() + " is not used: "));
    CHECK_THAT(all_warnings(*store), ContainsSubstring("TUNEDGEMM_TRUST"));
    CHECK_FALSE(has_winner(*store));
    CHECK((store->health().state == StoreState::kMemoryOnly) == !is_system_file);
  }
  CHECK(read_file(path) == before);
  {
    const TrustedPaths trusted("/nowhere:" + (folder.path() / "above/").string());
    const auto store = Store::open(options);
    INFO(all_warnings(*store));
    CHECK(store->health().warnings.empty());
    CHECK(has_winner(*store));
  }
  const TrustedPaths another((folder.path() / "abo").string());
  CHECK_FALSE(has_winner(*Store::open(options)));
}

TEST_CASE("A cache is found through links in its user's folders") {
  const TemporaryFolder folder;
  fill(folder.path() / "real" / "cache.db");
  fs::create_symlink("real/cache.db", folder.path() / "link.db");
  {
    const auto store = Store::open(sample::options(folder.path() / "link.db"));
    CHECK(store->health().state == StoreState::kReadWrite);
    CHECK(has_winner(*store));
    CHECK(store->put(sample::record(2), sample::source(2), sample::binary(), {}).stored);
  }
  CHECK(fs::is_symlink(folder.path() / "link.db"));
  CHECK(Store::open(sample::options(folder.path() / "real" / "cache.db"))->health().winners == 2);
}

TEST_CASE("A FIFO, folder or socket in place of the cache or beside it never blocks") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "cache.db";
  const std::string suffix = GENERATE("", "-journal", "-wal", "-shm", ".lock");
  const int kind = GENERATE(0, 1, 2);
  fill(path);
  const fs::path odd = path.string() + suffix;
  fs::remove(odd);
  if (kind == 0) {
    REQUIRE(mkfifo(odd.c_str(), 0600) == 0);
  } else if (kind == 1) {
    fs::create_directory(odd);
  } else {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, odd.c_str(), sizeof(address.sun_path) - 1);
    const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
    close(server);
  }
  auto options = sample::options(path);
  options.access = GENERATE(StoreOptions::Access::kReadWrite, StoreOptions::Access::kReadOnly);
  INFO(odd);
  const auto begin = std::chrono::steady_clock::now();
  const auto store = Store::open(options);
  CHECK(store->health().state == StoreState::kMemoryOnly);
  CHECK_THAT(all_warnings(*store), ContainsSubstring(odd.string()));
  CHECK(store->put(sample::record(2), sample::source(2), sample::binary(), {}).stored);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));
  CHECK(fs::symlink_status(odd).type() != fs::file_type::regular);
}
