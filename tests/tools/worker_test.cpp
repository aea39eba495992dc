// Tests that tune-all continues after a candidate breaks its process, and after processes are
// killed.

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/breaking_compiler.h"
#include "tests/support/catch.h"
#include "tests/tools/support/shell.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;
using namespace std::chrono_literals;

const std::string kQuick = TUNE_ALL " --device host --rigor quick --json ";
// A budget that suffices even on a busy machine.
const std::string kLong = "--budget-seconds 60 ";

// A prefix for commands. It sets a compiler that breaks f64 kernels (write_breaking_compiler).
std::string compiler(const Shell& shell, const std::string& cases) {
  const std::filesystem::path path = shell.folder() / "c++";
  write_breaking_compiler(path, cases, "TYPE_A=f64");
  return "env TUNEDGEMM_CXX=" + path.string() + " ";
}

nlohmann::json outcomes_of(const ProgramResult& result) {
  return nlohmann::json::parse(result.output);
}

// The pids of the workers that use a cache in this folder.
std::vector<pid_t> workers_of(const Shell& shell) {
  return processes_with("--tuning-worker", shell.folder().string());
}

}  // namespace

TEST_CASE(
    "Candidates that crash, trap, hang or break their compiler are recorded, and all shapes "
    "tuned") {
  const Shell shell;
  const std::string with_compiler =
      compiler(shell,
               "naive_mnk*) make '*(volatile int*)1 = 0' ;;\n"
               "reordered_mkn*BLOCK_N=512*) make '__builtin_trap()' ;;\n"
               "transposed_b*PARTIAL_SUMS=32*SWAP_AB=0*) make 'for (;;) asm(\"\")' ;;\n"
               "*PREFETCH=0*) kill -SEGV $$ ;;\n");
  std::ofstream(shell.folder() / "list.csv") << "f64,nn,40,24,16\nf32,nn,40,24,16\n";
  const std::string command =
      with_compiler + kQuick + kLong + "--candidates 12 --candidate-seconds 4 list.csv";
  const ProgramResult result = shell.run(command);
  CAPTURE(result.output, result.errors);
  REQUIRE(result.status == 0);
  const nlohmann::json outcomes = outcomes_of(result);
  REQUIRE(outcomes.size() == 2);
  for (const auto& outcome : outcomes) {
    CHECK(outcome["record"]["median_us"] > 0);
  }
  CHECK_THAT(outcomes[0]["record"]["remark"].get<std::string>(),
             ContainsSubstring("3 candidates crashed, the last "));
  CHECK(outcomes[0]["record"]["family"] == "blocked");
  CHECK(outcomes[1]["record"]["remark"].get<std::string>().find("crashed") == std::string::npos);

  const ProgramResult crashes = shell.run(
      "sqlite3 cache.db \"SELECT family, detail FROM trial JOIN config ON config.id = "
      "trial.config WHERE detail LIKE 'its process%' OR detail LIKE 'it did not "
      "return%' ORDER BY family\"");
  CAPTURE(crashes.output, crashes.errors);
  CHECK_THAT(crashes.output, ContainsSubstring("naive_mnk|its process "));
  CHECK_THAT(crashes.output, ContainsSubstring("reordered_mkn|its process "));
  CHECK_THAT(crashes.output, ContainsSubstring("transposed_b|it did not return within "));
  CHECK(workers_of(shell).empty());
}

TEST_CASE("A compiler that hangs for some candidates does not prevent a winner") {
  const Shell shell;
  const std::string with_compiler = compiler(shell, "*TILE_N=2*|*PREFETCH=0*) sleep 1000 ;;\n");
  std::ofstream(shell.folder() / "list.csv") << "f64,nn,40,24,16\nf32,nn,40,24,16\n";
  const ProgramResult result = shell.run(with_compiler + kQuick + "--candidates 4 list.csv");
  CAPTURE(result.output, result.errors);
  CHECK(result.status == 0);
}

TEST_CASE("A shape whose candidates all crash is given up, and the others are tuned") {
  const Shell shell;
  const std::string with_compiler = compiler(shell, "*) make '__builtin_trap()' ;;\n");
  std::ofstream(shell.folder() / "list.csv") << "f64,nn,40,24,16\nf32,nn,40,24,16\n";
  const ProgramResult result =
      shell.run(with_compiler + kQuick + kLong + "--candidates 12 list.csv");
  CAPTURE(result.output, result.errors);
  REQUIRE(result.status == 1);
  const nlohmann::json outcomes = outcomes_of(result);
  CHECK(outcomes[0]["record"].is_null());
  CHECK_THAT(outcomes[0]["failure"].get<std::string>(),
             ContainsSubstring("5 candidates have ended their process"));
  CHECK(outcomes[1]["record"]["median_us"] > 0);
  CHECK(shell.run("sqlite3 cache.db 'SELECT count(*) FROM lease'").output == "0\n");
}

TEST_CASE("After five crashed candidates the best of those that ran before wins") {
  const Shell shell;
  // The first kernel that is compiled is right; it differs between CPUs.
  const std::string with_compiler = compiler(
      shell,
      "blocked*) key=$(echo \"$all\" | tr ' ' '\\n' | grep -E '(TILE|BLOCK|SPLIT)_|PREFETCH')\n"
      "  mkdir \"$0.first\" 2> /dev/null && echo \"$key\" > \"$0.key\"\n"
      "  [ \"$key\" = \"$(cat \"$0.key\")\" ] || make '__builtin_trap()' ;;\n"
      "*) make '__builtin_trap()' ;;\n");
  std::ofstream(shell.folder() / "list.csv") << "f64,nn,40,24,16\n";
  const ProgramResult result =
      shell.run(with_compiler + kQuick + kLong + "--candidates 12 list.csv");
  CAPTURE(result.output, result.errors);
  REQUIRE(result.status == 0);
  const nlohmann::json outcomes = outcomes_of(result);
  CHECK(outcomes[0]["record"]["family"] == "blocked");
  CHECK(outcomes[0]["outcome"] == "tuned");
  CHECK(outcomes[0]["record"]["complete"] == false);
  CHECK_THAT(outcomes[0]["record"]["remark"].get<std::string>(),
             ContainsSubstring("5 candidates crashed"));
}

TEST_CASE("Without a worker, candidates that crash in the finals cost two processes", "[alone]") {
  const Shell shell;
  const std::filesystem::path compiler_path = shell.folder() / "c++";
  // A launch takes 1 ms, so that a sample is one launch after one that is not timed. The check and
  // at most two screening samples need five launches, the finals at least 14: kernels crash in the
  // ninth.
  std::ofstream(compiler_path) << R"sh(#!/bin/sh
for source; do :; done
name=$(sed -n 's/^extern "C" void \(tunedgemm_[a-z_]*\)(.*/\1/p' $source)
sed -i 's/^extern "C" void tunedgemm_[a-z_]*(/static void original(/' $source
cat >> $source << END
#include <unistd.h>
extern "C" void $name(const Arguments& arguments, const Team& team) {
  static int launches = 0;
  if (++launches == 9) *(volatile int*)1 = 0;
  usleep(1000);
  original(arguments, team);
}
END
exec c++ "$@"
)sh";
  std::filesystem::permissions(compiler_path, std::filesystem::perms::owner_all);
  const std::string command = "env TUNEDGEMM_CXX=" + compiler_path.string() + " " + kQuick + kLong +
                              "--in-process --candidates 2 --m 33 --n 47 --k 29";
  for (int crash = 0; crash < 2; ++crash) {
    CHECK(shell.run(command).status == 128 + SIGSEGV);
  }
  const ProgramResult third = shell.run(command);
  CHECK(third.status == 1);
  CHECK_THAT(outcomes_of(third)[0]["failure"].get<std::string>(),
             ContainsSubstring("2 candidates have ended their process"));
}

TEST_CASE("Killing workers at any moment loses nothing") {
  const Shell shell;
  std::jthread killer([&](const std::stop_token& stop) {
    // The kills come at varying intervals.
    for (int kills = 0; kills < 6 && !stop.stop_requested(); ++kills) {
      std::this_thread::sleep_for(150ms + kills * 170ms);
      for (const pid_t worker : workers_of(shell)) {
        kill(worker, SIGKILL);
      }
    }
  });
  const ProgramResult result =
      shell.run(kQuick + kLong + "--candidates 4 --m 40 --n 16:48:8 --k 16");
  killer.request_stop();
  CAPTURE(result.output, result.errors);
  REQUIRE(result.status == 0);
  for (const auto& outcome : outcomes_of(result)) {
    CHECK(outcome["record"]["median_us"] > 0);
  }
  // No candidate is recorded as crashed.
  CHECK(result.output.find("crashed") == std::string::npos);
  CHECK(shell.run("sqlite3 cache.db 'SELECT count(*) FROM lease'").output == "0\n");
  CHECK(shell.run("sqlite3 cache.db 'PRAGMA integrity_check'").output == "ok\n");
}

TEST_CASE("A worker dies with a tune-all that is killed") {
  const Shell shell;
  const ProgramResult result =
      shell.run("timeout --signal KILL 2 " TUNE_ALL
                " --device host --rigor exhaustive --m 512 --n 512 --k 512");
  CAPTURE(result.output, result.errors);
  REQUIRE(result.status == 128 + SIGKILL);
  const auto until = std::chrono::steady_clock::now() + 5s;
  while (!workers_of(shell).empty() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(10ms);
  }
  CHECK(workers_of(shell).empty());
}

}  // namespace tunedgemm::internal
