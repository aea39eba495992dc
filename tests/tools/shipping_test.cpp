// One file of tuned kernels: tunedgemm export selects them, and a program without a compiler runs
// them.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/context/context.h"
#include "tests/runtime/support/host_call.h"
#include "tests/support/catch.h"
#include "tests/support/environment_variable.h"
#include "tests/tools/support/shell.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

const std::string kCommand = TUNEDGEMM " ";

// Three M of a layer with N = 48 and K = 40, and one M of another layer.
class ShellWithLayers : public Shell {
 public:
  ShellWithLayers() {
    for (const char* sizes : {"--m 1,8,64 --n 48 --k 40", "--m 8 --n 24 --k 16"}) {
      const ProgramResult tuned =
          run(std::string(TUNE_ALL) +
              " --device host --rigor quick --candidates 3 --budget-seconds 100 " + sizes);
      CAPTURE(tuned.output, tuned.errors);
      REQUIRE(tuned.status == 0);
    }
    write("layer.csv", "name,types,m,n,k\nup,f32,512,48,40\n");
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder() / name) << text;
  }
};

// Everything that opening a file could change.
struct FolderContents {
  explicit FolderContents(const fs::path& folder) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      names.insert(entry.path().filename());
      std::ifstream file(entry.path(), std::ios::binary);
      text.append(std::istreambuf_iterator<char>(file), {});
    }
  }
  bool operator==(const FolderContents&) const = default;

  std::set<std::string> names;
  std::string text;
};

// A folder without write permission. Its destructor allows its removal.
class ReadOnlyFolder {
 public:
  [[nodiscard]] explicit ReadOnlyFolder(fs::path path) : path_(std::move(path)) {
    fs::permissions(path_, fs::perms::owner_read | fs::perms::owner_exec);
  }
  ~ReadOnlyFolder() { fs::permissions(path_, fs::perms::owner_all); }
  ReadOnlyFolder(const ReadOnlyFolder&) = delete;
  ReadOnlyFolder& operator=(const ReadOnlyFolder&) = delete;

 private:
  fs::path path_;
};

TEST_CASE("export selects the winners of a device and of layers, with every M") {
  const ShellWithLayers shell;
  const auto winners_of = [&](const std::string& arguments, const std::string& file) {
    const ProgramResult exported = shell.run(kCommand + "export " + file + " " + arguments);
    CAPTURE(arguments, exported.output, exported.errors);
    REQUIRE(exported.status == 0);
    return nlohmann::json::parse(shell.run(kCommand + "best --json --cache " + file).output);
  };
  std::set<int> rows;
  for (const auto& winner : winners_of("--list layer.csv --device host", "layer.db")) {
    CHECK(winner["n"] == 48);
    rows.insert(winner["m"].get<int>());
  }
  CHECK(rows == std::set<int>{1, 8, 64});
  CHECK(winners_of("", "all.db").size() == 4);
  CHECK(winners_of("--device host", "host.db").size() == 4);
  CHECK(fs::file_size(shell.folder() / "layer.db") < fs::file_size(shell.folder() / "all.db"));
  const ProgramResult again = shell.run(kCommand + "export layer.db --list layer.csv");
  CHECK(again.status == 2);
  CHECK_THAT(again.errors, ContainsSubstring("is there already"));

  shell.write("two.csv",
              "name,types,m,n,k\nup,f32,512,48,40\ndown,f32,1,40,48\ndown,f32,2,40,48\n");
  const ProgramResult partly =
      shell.run(kCommand + "export two.db --list layer.csv --list two.csv");
  CAPTURE(partly.errors);
  CHECK(partly.status == 0);
  CHECK_THAT(partly.errors,
             ContainsSubstring("warning: no winner for down f32→f32 ieee nn, N = 40, "
                               "K = 48 of two.csv, with any M; tune it with "
                               "tune-all two.csv\n"));
  const std::size_t first = partly.errors.find("warning: no winner");
  CHECK(partly.errors.find("warning: no winner", first + 1) == std::string::npos);

  shell.write("other.csv", "types,m,n,k\nf16,8,48,40\n");
  for (const char* arguments : {"--list other.csv", "--device H200"}) {
    const ProgramResult none = shell.run(kCommand + "export none.db " + arguments);
    CAPTURE(arguments, none.errors);
    CHECK(none.status == 1);
    CHECK_THAT(none.errors, ContainsSubstring("nothing is written; it has winners of "));
    CHECK_FALSE(fs::exists(shell.folder() / "none.db"));
  }
  CHECK(shell.run(kCommand + "export none.db --list nowhere.csv").status == 2);
}

TEST_CASE("An exported layer runs for every M from a read-only folder, without a compiler") {
  const ShellWithLayers shell;
  const fs::path image = shell.folder() / "image", file = image / "layer.db";
  fs::create_directory(image);
  const ProgramResult exported =
      shell.run(kCommand + "export image/layer.db --list layer.csv --device host");
  CAPTURE(exported.errors);
  REQUIRE(exported.status == 0);
  const FolderContents before(image);
  REQUIRE(before.names == std::set<std::string>{"layer.db"});
  const ReadOnlyFolder read_only(image);
  shell.write("c++", "#!/bin/sh\ntouch '" + (shell.folder() / "started").string() + "'\nexit 1\n");
  fs::permissions(shell.folder() / "c++", fs::perms::owner_all);
  const EnvironmentVariable compiler("TUNEDGEMM_CXX", shell.folder() / "c++");
  const EnvironmentVariable system_cache("TUNEDGEMM_SYSTEM_CACHE", file);

  for (const auto access : {StoreOptions::Access::kMemoryOnly, StoreOptions::Access::kReadWrite}) {
    INFO("access " << static_cast<int>(access));
    ContextOptions options;
    options.backend = &host_backend();
    options.policy = Policy::kStored;
    options.store.access = access;
    options.store.path = shell.folder() / "user.db";
    const auto context = Context::create(options);
    for (const int m : {1, 8, 64}) {
      INFO("M = " << m);
      const HostCall call(m, 48, 40);
      const Plan& plan = context->plan(call.checked(), {});
      CHECK(plan.is_final);
      CHECK_FALSE(plan.kernel->is_built_in());
      CHECK(call.is_right_with(plan));
    }
    for (const int m : {3, 20, 200}) {
      INFO("M = " << m);
      const HostCall call(m, 48, 40);
      const Plan& plan = context->plan(call.checked(), {});
      CHECK_THAT(plan.description, ContainsSubstring("tuned for another M"));
      CHECK(call.is_right_with(plan));
    }
    CHECK(context->kernel_counters().compiled == 0);
  }
  const ProgramResult other_process = shell.run("TUNEDGEMM_CACHE=user.db TUNEDGEMM_POLICY=stored " +
                                                kCommand + "explain 8 48 40 --device host");
  CAPTURE(other_process.output, other_process.errors);
  CHECK(other_process.status == 0);
  CHECK_THAT(other_process.output, ContainsSubstring("because    stale: tuned with"));
  CHECK_FALSE(fs::exists(shell.folder() / "started"));
  CHECK(FolderContents(image) == before);
}

}  // namespace
}  // namespace tunedgemm::internal
