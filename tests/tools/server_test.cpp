// Runs tune-all beside a program, whose calls switch to the winners without a restart.

#include <chrono>
#include <iostream>

#include "runtime/calls/launch.h"
#include "tests/runtime/support/host_call.h"
#include "tests/support/catch.h"
#include "tests/support/comes_true.h"
#include "tests/tools/support/shell.h"

namespace tunedgemm::internal {
namespace {

std::string tune_all(const HostCall& call) {
  const tunedgemm_problem problem = call.problem();
  return "env TUNEDGEMM_THREADS=2 " TUNE_ALL
         " --device host --rigor quick --candidates 3 --budget-seconds 60 --types f32 --m " +
         std::to_string(problem.m) + " --n " + std::to_string(problem.n) + " --k " +
         std::to_string(problem.k);
}

std::unique_ptr<Context> server_on(const Shell& shell, Policy policy) {
  ContextOptions options;
  options.backend = &host_backend();
  options.device.host_threads = 2;
  options.store.path = shell.cache();
  options.policy = policy;
  return Context::create(options);
}

}  // namespace

TEST_CASE("A server's next calls run the winners that tune-all stores beside it") {
  using std::chrono::steady_clock;
  for (const Policy policy : {Policy::kStored, Policy::kCompile}) {
    const Shell shell;
    const HostCall call(40, 24, 20);
    const auto server = server_on(shell, policy);
    const Plan& plan = server->plan(call.checked(), {});
    REQUIRE_FALSE(plan.newest().is_final);
    const std::int64_t compiled = server->kernel_counters().compiled;

    const ProgramResult tuned = shell.run(tune_all(call));
    CAPTURE(tuned.output, tuned.errors);
    REQUIRE(tuned.status == 0);
    const auto stored = steady_clock::now();
    CHECK(comes_true([&] { return call.is_right_with(plan.newest()) && plan.newest().is_final; }));
    const std::chrono::duration<double> seconds = steady_clock::now() - stored;
    std::cout << "policy " << name(policy) << ": the winner runs " << seconds.count()
              << " s after tune-all has ended\n";
    CHECK(server->kernel_counters().compiled == compiled);
  }
}

}  // namespace tunedgemm::internal
