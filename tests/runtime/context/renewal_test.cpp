// A winner whose template has changed since it was tuned is valid if the machine code is the same.

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/calls/arguments.h"
#include "runtime/context/context.h"
#include "tests/runtime/support/host_call.h"
#include "tests/runtime/support/winner_record.h"
#include "tests/support/catch.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;

const HostCall& call() {
  static const HostCall same{31, 17, 64};
  return same;
}

enum class Code { kSame, kOther };
// Stores a winner tuned with another text of the template. The winner's machine code is that of the
// current template (kSame), or differs in one byte (kOther). Empty without a compiler.
std::optional<Candidate> store_old_winner(const TemporaryFolder& folder, Code code) {
  const auto context = host_context(folder, Policy::kCompile);
  Device& device = context->device();
  if (!device.why_not_compile().empty()) {
    return std::nullopt;
  }
  const CanonicalProblem problem = call().checked().problem;
  const Instance winner =
      find_family("reordered_mkn")->candidates(problem, device.limits()).front();
  Source source = winner.source();
  auto compiled = device.compile(source);
  REQUIRE(std::holds_alternative<Binary>(compiled));
  Binary binary = std::get<Binary>(std::move(compiled));
  if (code == Code::kOther) {
    binary.code.back() ^= std::byte{1};
  }
  source.defines.emplace_back("AN_OLDER_TEMPLATE", "1");
  Record record = winner_record(winner, device);
  record.family_fingerprint = "an older template";
  record.measurement.median_us = 7;
  REQUIRE(context->store().put(record, source, binary, {}).stored);
  return winner.candidate;
}

}  // namespace

TEST_CASE("A winner whose template changed but whose machine code did not is a hit and is renewed",
          "[host]") {
  const Policy policy = GENERATE(Policy::kTune, Policy::kCompile, Policy::kFail);
  const TemporaryFolder folder;
  const std::optional<Candidate> winner = store_old_winner(folder, Code::kSame);
  if (!winner) {
    TUNEDGEMM_SKIP("there is no compiler for host kernels");
  }
  {
    const auto context = host_context(folder, policy);
    const Plan& plan = context->plan(call().checked(), {});
    CHECK(plan.candidate == winner);
    CHECK(plan.is_final);
    CHECK_THAT(plan.description, ContainsSubstring("tuned, 7"));
    CHECK(call().is_right_with(plan));
    CHECK(context->counters().hits == 1);
    CHECK(context->kernel_counters().compiled == 0);  // the one for comparison does not count
  }
  // The renewed winner needs no compilation under any policy.
  const auto context = host_context(folder, Policy::kStored);
  const Plan& plan = context->plan(call().checked(), {});
  CHECK(plan.candidate == winner);
  CHECK(plan.is_final);
  CHECK(context->kernel_counters().loaded == 1);
  CHECK(context->kernel_counters().compiled == 0);
}

TEST_CASE("A winner whose machine code changed with its template is void", "[host]") {
  const TemporaryFolder folder;
  if (!store_old_winner(folder, Code::kOther)) {
    TUNEDGEMM_SKIP("there is no compiler for host kernels");
  }
  const auto context = host_context(folder, Policy::kCompile);
  const Plan& plan = context->plan(call().checked(), {});
  CHECK_FALSE(plan.is_final);
  CHECK(context->counters().hits == 0);
  CHECK(call().is_right_with(plan));
  CHECK_FALSE(context->find_tuned(call().checked().asked, {}));
}

TEST_CASE("A policy that compiles nothing renews no winner, and the next tuning does", "[host]") {
  const TemporaryFolder folder;
  const std::optional<Candidate> winner = store_old_winner(folder, Code::kSame);
  if (!winner) {
    TUNEDGEMM_SKIP("there is no compiler for host kernels");
  }
  {
    const auto context = host_context(folder, Policy::kStored);
    CHECK_FALSE(context->plan(call().checked(), {}).is_final);
  }
  const auto context = host_context(folder, Policy::kStored);
  TuneOptions options;
  options.rigor = Rigor::kModel;
  const TuneResult result = context->tune(call().checked().asked, options);
  CHECK(result.kind == TuneResult::Kind::kCached);
  REQUIRE(result.record);
  CHECK(result.record->config == winner->config);
}

}  // namespace tunedgemm::internal
