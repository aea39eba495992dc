// What a call costs on its first time: look-ups in the store and loads of kernels.

#include <cstdlib>
#include <memory>

#include "runtime/context.h"
#include "tests/runtime/support/host_call.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm {
namespace {

CallKey call() {
  tunedgemm_problem problem;
  tunedgemm_problem_init(&problem, 31, 17, 64, TUNEDGEMM_F32, TUNEDGEMM_F32, TUNEDGEMM_F32);
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
