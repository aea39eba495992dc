// What a call costs on its first time: look-ups in the store and loads of kernels.

#include <cstdlib>
#include <memory>
#include <vector>

#include "runtime/context.h"
#include "tests/runtime/support/host_call.h"
#include "tests/support/catch.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm {
namespace {

CallKey call(std::int64_t k = 64) {
  tunedgemm_problem problem;
  tunedgemm_problem_init(&problem, 31, 17, k, TUNEDGEMM_F32, TUNEDGEMM_F32, TUNEDGEMM_F32);
  tunedgemm_buffers buffers;
  tunedgemm_buffers_init(&buffers);
  return call_key(problem, buffers);
}

TEST_CASE("A miss that tunes is one look-up and one load of the winner, a hit is one of each") {
  const TemporaryFolder folder;
  {
    const auto context = host_context(folder, Policy::kTune);
    context->plan(call(), {});
    CHECK(context->counters().hits == 1);
    CHECK(context->store().lookups() == 1);
    CHECK(context->kernel_counters().loaded == 1);
    CHECK(context->kernel_counters().compiled == 0);
    context->plan(call(), {});
    CHECK(context->store().lookups() == 1);
    CHECK(context->kernel_counters().loaded == 1);
  }
  const auto context = host_context(folder, Policy::kTune);
  context->plan(call(), {});
  CHECK(context->counters().hits == 1);
  CHECK(context->store().lookups() == 1);
  CHECK(context->kernel_counters().loaded == 1);
  CHECK(context->kernel_counters().compiled == 0);
}

TEST_CASE("A winner runs from its stored binary where nothing compiles") {
  const TemporaryFolder folder;
  const Candidate tuned = host_context(folder, Policy::kTune)->plan(call(), {}).candidate;
  ::setenv("TUNEDGEMM_CXX", "/nonexistent/c++", 1);
  const auto context = host_context(folder, Policy::kTune);
  ::unsetenv("TUNEDGEMM_CXX");
  const Plan& plan = context->plan(call(), {});
  CHECK(plan.candidate == tuned);
  CHECK_FALSE(plan.kernel->is_built_in());
  CHECK(context->counters().stale == 1);
  CHECK(context->kernel_counters().loaded == 1);
  CHECK(context->kernel_counters().compiled == 0);
}

TEST_CASE("Where nothing compiles and nothing is stored, the kernel that is linked in says so") {
  const TemporaryFolder folder;
  ::setenv("TUNEDGEMM_CXX", "/nonexistent/c++", 1);
  const auto context = host_context(folder, Policy::kNever);
  ::unsetenv("TUNEDGEMM_CXX");
  const Plan& plan = context->plan(call(), {});
  CHECK(plan.kernel->is_built_in());
  CHECK(plan.description.find("linked in") != std::string::npos);
}

TEST_CASE("A miss without tuning runs what won for a near problem, from its stored binary") {
  const TemporaryFolder folder;
  const auto context = host_context(folder, Policy::kNever);
  Device& device = context->device();
  const Problem near = canonical(to_problem(call(96))).problem;
  const std::vector<Instance> ranked = ranked_candidates(near, device.limits());
  const Instance& second = ranked.at(1);
  const auto compiled = device.compile(second.source());
  if (!std::holds_alternative<Binary>(compiled)) {
    TUNEDGEMM_SKIP("there is no compiler for host kernels");
  }
  Record record;
  record.problem = near;
  record.device = device.identity();
  record.toolchain = device.toolchain();
  record.family = second.candidate.family->name();
  record.config = second.candidate.config;
  record.family_fingerprint = second.candidate.family->fingerprint();
  record.measurement = {.median_us = 1, .low_us = 1, .high_us = 1, .samples_us = {1, 1}};
  record.rigor = Rigor::kNormal;
  REQUIRE(context->store().put(record, second.source(), std::get<Binary>(compiled), {}).stored);
  const Plan& plan = context->plan(call(), {});
  CHECK(plan.candidate == second.candidate);
  CHECK(context->counters().model == 1);
  CHECK(context->kernel_counters().compiled == 0);
}

TEST_CASE("A miss without tuning is one look-up") {
  const TemporaryFolder folder;
  const auto context = host_context(folder, Policy::kNever);
  context->plan(call(), {});
  CHECK(context->counters().model == 1);
  CHECK(context->store().lookups() == 1);
  CHECK(context->kernel_counters().loaded == 1);
}

}  // namespace
}  // namespace tunedgemm
