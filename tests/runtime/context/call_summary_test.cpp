// The counts of the line that a process logs when it exits. tests/runtime/process/fork_test.cpp
// tests the line itself.

#include <algorithm>
#include <memory>
#include <string>

#include "tests/runtime/support/host_call.h"
#include "tests/support/catch.h"
#include "tests/support/environment_variable.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal {
namespace {

void run(const Plan& plan, const HostCall& call, int times) {
  const tunedgemm_buffers buffers = call.buffers();
  for (int time = 0; time < times; ++time) {
    REQUIRE(tunedgemm_run(reinterpret_cast<const tunedgemm_plan*>(&plan), &buffers, nullptr) ==
            TUNEDGEMM_STATUS_OK);
  }
  CHECK(call.is_right());
}

std::string summary_of(Context& context) {
  CallSummary summary;
  context.drop_recent_plans();
  context.add_to(summary);
  return summary.text();
}

TEST_CASE("A problem's launches before and after its tuning are counted together") {
  const TemporaryFolder folder;
  const EnvironmentVariable set("TUNEDGEMM_LOG", "summary");
  const auto context = host_context(folder, Policy::kStored);
  if (!context->device().why_not_compile().empty()) {
    TUNEDGEMM_SKIP("there is no compiler for host kernels");
  }
  CHECK(summary_of(*context) == "");
  const HostCall call(37, 53, 29);
  const Plan& plan = context->plan(call.checked(), {});
  CHECK(summary_of(*context) == "");
  run(plan, call, 3);
  context->note_calls();
  run(plan, call, 1);
  CHECK(summary_of(*context) ==
        "4 calls, 1 problem: 1 linked_in; `tune-all --from-requests` would tune 1");
  TuneOptions options;
  options.budget = context->options().budget;
  REQUIRE(context->tune(call.checked().problem, options).record);
  run(plan, call, 5);
  CHECK_THAT(summary_of(*context), Catch::Matchers::StartsWith("9 calls, 1 problem: 1 tuned; ") &&
                                       Catch::Matchers::EndsWith(" s of tuning"));
}

TEST_CASE("The launches of plans that are no longer kept are counted") {
  const TemporaryFolder folder;
  const EnvironmentVariable set("TUNEDGEMM_LOG", "summary");
  ContextOptions options = host_options(folder, Policy::kStored);
  options.most_provisional_plans = 1;
  const auto context = Context::create(options);
  for (const int m : {3, 4, 5, 4}) {
    const HostCall call(m, 5, 6);
    run(*context->plan_for_launch(call.checked(), {}), call, 2);
  }
  CHECK(summary_of(*context).starts_with("8 calls, "));
}

TEST_CASE("The lines for tunedgemm top have what is known of each problem") {
  const TemporaryFolder folder;
  const EnvironmentVariable set("TUNEDGEMM_TOP", folder.path().string());
  const auto context = host_context(folder, Policy::kStored);
  const HostCall first(3, 5, 6), second(4, 5, 6);
  const Plan& plan = context->plan(first.checked(), {});
  run(plan, first, 2);
  run(context->plan(second.checked(), {}), second, 1);
  CallSummary summary;
  context->add_to(summary);
  const std::string lines = summary.lines();
  CAPTURE(lines);
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 2);
  const std::string of_first =
      "2\t0\tlinked_in\t" + to_text(first.checked().problem) + '\t' + plan.description + '\n';
  CHECK_THAT(lines, Catch::Matchers::Contains(of_first));
}

TEST_CASE("Without the variable the launches of final plans are not counted") {
  const TemporaryFolder folder;
  const auto context = host_context(folder, Policy::kStored);
  const HostCall call(3, 5, 0), provisional(3, 5, 6);
  tunedgemm_problem empty = call.problem();
  empty.m = 0;
  const Plan& plan = context->plan(checked_call(call_key(empty, call.buffers())), {});
  REQUIRE(plan.is_final);
  const tunedgemm_buffers buffers = call.buffers();
  CHECK(tunedgemm_run(reinterpret_cast<const tunedgemm_plan*>(&plan), &buffers, nullptr) ==
        TUNEDGEMM_STATUS_OK);
  CHECK(plan.calls == 0);
  run(context->plan(provisional.checked(), {}), provisional, 2);
  CHECK(summary_of(*context) == "");
}

}  // namespace
}  // namespace tunedgemm::internal
