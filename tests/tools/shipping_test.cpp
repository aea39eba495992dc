// One file of tuned kernels: tunedgemm export selects them, a program without a compiler runs them,
// tunedgemm verify measures them again.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/context/context.h"
#include "tests/runtime/support/host_call.h"
#include "tests/runtime/support/winner_record.h"
#include "tests/support/catch.h"
#include "tests/support/environment_variable.h"
#include "tests/support/skip.h"
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
  CHECK(shell
            .run("sqlite3 layer.db 'SELECT count(*) = (SELECT count(DISTINCT kernel) FROM winner) "
                 "FROM kernel'")
            .output == "1\n");
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
      CHECK_THAT(plan.description, ContainsSubstring("served from M = "));
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

TEST_CASE("verify tells winners that hold from a winner that is slower than another finalist") {
  const Shell shell;
  ContextOptions options;
  options.backend = &host_backend();
  options.store.path = shell.cache();
  const auto context = Context::create(options);
  Device& device = context->device();
  const auto store_winner = [&](const Problem& problem, const char* winner, const char* other) {
    std::vector<TrialRecord> trials;
    std::optional<Instance> won;
    for (const Instance& instance : ranked_candidates(problem, device.limits())) {
      const Family& family = *instance.candidate.family;
      const bool is_first = std::ranges::none_of(
          trials, [&](const TrialRecord& trial) { return trial.family == family.name(); });
      if ((family.name() == winner || family.name() == other) && is_first) {
        TrialRecord& trial = trials.emplace_back();
        trial.family = family.name();
        trial.config = instance.candidate.config;
        trial.family_fingerprint = family.fingerprint();
        trial.measurement = Measurement{10, 10, 10, {10}};
        trial.final_round = true;
        won = family.name() == winner ? instance : won;
      }
    }
    REQUIRE(won);
    const auto compiled = device.compile(won->source());
    if (!std::holds_alternative<Binary>(compiled)) {
      TUNEDGEMM_SKIP("there is no compiler for host kernels");
    }
    Record record = winner_record(*won, device);
    record.measurement = Measurement{10, 10, 10, {10}};
    REQUIRE(context->store().put(record, won->source(), std::get<Binary>(compiled), trials).stored);
  };
  const auto problem = [](std::int64_t m) {
    return canonical(make_problem(m, 192, 256, DataType::kF32, DataType::kF32, DataType::kF32));
  };
  store_winner(problem(128), "blocked", "naive_mnk");
  context->store().flush();
  const auto verify = [&](const std::string& arguments) {
    return shell.run(kCommand + "verify file.db --device host " + arguments);
  };
  REQUIRE(shell.run(kCommand + "export file.db").status == 0);
  const ProgramResult holds = verify("");
  CAPTURE(holds.output, holds.errors);
  CHECK(holds.status == 0);
  CHECK_THAT(holds.errors, ContainsSubstring("1/1  128x192x256 f32→f32 ieee nn: holds"));
  CHECK_THAT(holds.output, ContainsSubstring("best other") && ContainsSubstring("holds"));

  store_winner(problem(160), "naive_mnk", "blocked");
  fs::remove(shell.folder() / "file.db");
  REQUIRE(shell.run(kCommand + "export file.db").status == 0);
  const auto written = fs::last_write_time(shell.folder() / "file.db");
  const ProgramResult one_does_not = verify("--json");
  CAPTURE(one_does_not.output, one_does_not.errors);
  CHECK(one_does_not.status == 1);
  const auto rows = nlohmann::json::parse(one_does_not.output);
  REQUIRE(rows.size() == 2);
  for (const auto& row : rows) {
    const bool is_good = row["m"] == 128;
    CHECK(row["holds"] == is_good);
    CHECK(row["then_us"] == 10);
    const auto& contenders = row["contenders"];
    REQUIRE(contenders.size() >= 2);
    const bool is_slower =
        std::any_of(contenders.begin() + 1, contenders.end(),
                    [&](const auto& one) { return one["median_us"] < contenders[0]["median_us"]; });
    CHECK(is_slower == !is_good);
    CHECK_THAT(row["verdict"].get<std::string>(),
               ContainsSubstring(is_good ? "holds" : "slower by"));
  }
  CHECK(fs::last_write_time(shell.folder() / "file.db") == written);

  std::ofstream(shell.folder() / "list.csv") << "types,m,n,k\nf32,7,192,256\n";
  CHECK(verify("--list list.csv").status == 1);
  std::ofstream(shell.folder() / "list.csv") << "types,m,n,k\nf32,7,192,255\n";
  const ProgramResult none = verify("--list list.csv");
  CHECK(none.status == 1);
  CHECK_THAT(none.errors, ContainsSubstring("is of the lists"));
  CHECK(shell.run(kCommand + "verify nowhere.db").status == 2);
  const ProgramResult other_device =
      shell.run("TUNEDGEMM_THREADS=1 " + kCommand + "verify file.db --device host");
  if (device.identity().units > 1) {
    CHECK(other_device.status == 3);
    CHECK_THAT(other_device.errors,
               ContainsSubstring("it has winners for " + device.identity().name));
  }
}

}  // namespace
}  // namespace tunedgemm::internal
