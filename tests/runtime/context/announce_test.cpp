// The problem that a tuning's compilers begin with, as a worker is told it.

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "runtime/context/context.h"
#include "runtime/tuning/worker_conversation.h"
#include "tests/runtime/support/host_call.h"
#include "tests/runtime/support/winner_record.h"
#include "tests/support/catch.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal {
namespace {

HostCall call(int k) {
  return {31, 17, k};
}

CanonicalProblem problem(int k) {
  return call(k).checked().problem;
}

// Its worker writes down what it is told, and finds no winner.
struct Bench {
  Bench() {
    ContextOptions options = host_options(folder, Policy::kTune);
    options.worker_command = {"/bin/sh", "-c",
                              "while read -r line; do echo \"$line\" >>'" + told.string() +
                                  "'; case $line in tune*) echo done 3 0 0 0 none;; esac; done"};
    context = Context::create(options);
  }

  // The problem after the one that the call tunes; "nothing" without a tuning.
  std::string next_of_call(int k) const {
    std::ofstream(told, std::ios::trunc).close();
    context->plan(call(k).checked(), nullptr);
    std::ifstream lines(told);
    std::string text = "nothing";
    for (std::string line; std::getline(lines, line);) {
      if (const auto next = next_problem(line)) {
        return to_text(*next);
      }
      text = "";
    }
    return text;
  }

  const TemporaryFolder folder;
  const std::filesystem::path told = folder.path() / "told";
  std::unique_ptr<Context> context;
};

}  // namespace

TEST_CASE("The compilers begin with the next announced problem that has no winner", "[host]") {
  const Bench bench;
  Context& context = *bench.context;
  if (!context.device().why_not_compile().empty()) {
    TUNEDGEMM_SKIP("there is no compiler for host kernels");
  }
  const CanonicalProblem tuned = problem(24), empty = HostCall(0, 17, 8).checked().problem;
  store_winner(context.store(), default_candidate(tuned, context.device().limits()),
               context.device());
  context.announce({problem(8), problem(16), problem(16), empty, tuned, problem(32), problem(40)});
  CHECK(bench.next_of_call(48) == "");  // not announced
  const std::int64_t lookups = context.store().lookups();
  CHECK(bench.next_of_call(8) == to_text(problem(16)));
  CHECK(context.store().lookups() == lookups + 2);  // its own, and that of the next one
  CHECK(bench.next_of_call(16) == to_text(problem(32)));
  CHECK(bench.next_of_call(24) == "nothing");
  CHECK(bench.next_of_call(32) == to_text(problem(40)));
  CHECK(bench.next_of_call(40) == "");

  context.announce({problem(56), problem(64)});
  context.announce({problem(72), problem(80), problem(88)});
  CHECK(bench.next_of_call(56) == "");
  CHECK(bench.next_of_call(80) == to_text(problem(88)));  // 72 was left out
  context.announce({});
  CHECK(bench.next_of_call(72) == "");
}

}  // namespace tunedgemm::internal
