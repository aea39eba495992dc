// Many M of one layer, served by a kernel of another M.

#include <memory>
#include <vector>

#include "runtime/context/context.h"
#include "tests/runtime/support/host_call.h"
#include "tests/support/catch.h"
#include "tests/support/comes_true.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal {
namespace {

constexpr std::size_t kMost = 4;

std::unique_ptr<Context> server(const TemporaryFolder& folder) {
  ContextOptions options = host_options(folder, Policy::kStored);
  options.most_provisional_plans = kMost;
  return Context::create(options);
}

void tune(const TemporaryFolder& folder, int m) {
  const HostCall call(m, 51, 31);
  REQUIRE(host_context(folder, Policy::kTune)->plan(call.checked(), {}).is_final);
}

// A launch of the call; returns its plan.
std::shared_ptr<const Plan> launched(Context& context, const HostCall& call) {
  std::shared_ptr<const Plan> plan = context.find_recent(call.key());
  if (plan == nullptr) {
    plan = context.plan_for_launch(call.checked(), {});
  }
  CHECK(call.is_right_with(*plan));
  plan->calls.fetch_add(1);
  return plan;
}

TEST_CASE("Provisional plans beyond a number are made again, and their launches are counted") {
  const TemporaryFolder folder;
  tune(folder, 8);
  auto context = server(folder);
  std::size_t kept = 0, recent = 0;
  for (int round = 0; round < 2; ++round) {
    for (int m = 9; m < 29; ++m) {
      const HostCall call(m, 51, 31);
      CHECK_FALSE(launched(*context, call)->is_final);
      kept += context->find_plan(call.key()) != nullptr ? 1 : 0;
      recent += context->find_recent(call.key()) != nullptr ? 1 : 0;
    }
  }
  CHECK(kept == 2 * kMost);
  CHECK(recent == 2 * 16);
  std::size_t still_there = 0;
  for (int m = 9; m < 29; ++m) {
    still_there += context->find_recent(HostCall(m, 51, 31).key()) != nullptr ? 1 : 0;
  }
  CHECK(still_there <= kMost);
  // A plan for a caller who keeps it is kept, whatever the number.
  const HostCall asked(40, 51, 31);
  const Plan& plan = context->plan(asked.checked(), {});
  CHECK(context->find_plan(asked.key()) == &plan);

  context.reset();
  const auto reader = host_context(folder, Policy::kStored);
  const std::vector<Request> requests = reader->store().requests(reader->device().identity());
  CHECK(requests.size() == 21);
  for (const Request& request : requests) {
    CAPTURE(request.problem->m);
    CHECK(request.calls == (request.problem->m == 40 ? 0 : 2));
  }
}

TEST_CASE("A plan that is not kept gives way to the winner that another process stores") {
  const TemporaryFolder folder;
  tune(folder, 8);
  const auto context = server(folder);
  for (int m = 9; m < 20; ++m) {
    launched(*context, HostCall(m, 51, 31));
  }
  const HostCall call(19, 51, 31);
  REQUIRE(context->find_recent(call.key()) != nullptr);
  tune(folder, 19);
  CHECK(comes_true([&] { return context->find_recent(call.key()) == nullptr; }));
  CHECK(launched(*context, call)->is_final);
  CHECK(context->find_plan(call.key()) != nullptr);
}

TEST_CASE("A winner of another process is looked up alone, whatever the number of plans") {
  const TemporaryFolder folder;
  tune(folder, 8);
  const auto context = host_context(folder, Policy::kStored);
  for (int m = 9; m < 109; ++m) {
    context->plan(HostCall(m, 51, 31).checked(), {});
  }
  const HostCall call(50, 51, 31);
  const Plan& plan = context->plan(call.checked(), {});
  const std::int64_t before = context->store().lookups();
  tune(folder, 50);
  REQUIRE(comes_true([&] { return plan.newest().is_final; }));
  CHECK(context->store().lookups() - before <= 3);
}

}  // namespace
}  // namespace tunedgemm::internal
