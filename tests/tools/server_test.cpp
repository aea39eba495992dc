// Runs tune-all beside a program. The program's calls must switch to the winners without a restart.

#include <chrono>
#include <iostream>

#include "runtime/calls/launch.h"
#include "tests/runtime/support/host_call.h"
#include "tests/support/catch.h"
#include "tests/support/comes_true.h"
#include "tests/support/skip.h"
#include "tests/tools/support/shell.h"

namespace tunedgemm::internal {
namespace {

std::string tune_all(const HostCall& call, const std::string& device) {
  const tunedgemm_problem problem = call.problem();
  return "env TUNEDGEMM_THREADS=2 " TUNE_ALL
         " --rigor quick --candidates 3 --budget-seconds 60 --types f32 --device " +
         device + " --m " + std::to_string(problem.m) + " --n " + std::to_string(problem.n) +
         " --k " + std::to_string(problem.k);
}

std::unique_ptr<Context> server_on(const Shell& shell, const Backend& backend, Policy policy) {
  ContextOptions options;
  options.backend = &backend;
  options.device.host_threads = 2;
  options.store.path = shell.cache();
  options.policy = policy;
  return Context::create(options);
}

// Runs the plan with copies of the call's matrices in the device's memory.
bool is_right_on_device(Context& context, const HostCall& call, const Plan& plan) {
  Device& device = context.device();
  const auto copy = [&](const std::vector<float>& elements) {
    auto memory = device.allocate(static_cast<std::int64_t>(elements.size() * sizeof(float)));
    device.copy_to_device(memory->data(), elements.data(), memory->size_bytes());
    return memory;
  };
  const auto a = copy(call.a), b = copy(call.b), d = copy(call.d);
  tunedgemm_buffers buffers = call.buffers();
  buffers.a = a->data();
  buffers.b = b->data();
  buffers.d = d->data();
  if (launch(plan, buffers, nullptr) != 0) {
    return false;
  }
  device.synchronize(nullptr);
  device.copy_to_host(call.d.data(), d->data(), d->size_bytes());
  return call.is_right();
}

// Tunes the call's problem beside the server, and waits until the plan runs the winner.
void check_goes_over(const Shell& shell, Context& server, const HostCall& call, const Plan& plan) {
  using std::chrono::steady_clock;
  REQUIRE_FALSE(plan.newest().is_final);
  const std::int64_t compiled = server.kernel_counters().compiled;
  const ProgramResult tuned =
      shell.run(tune_all(call, std::string(server.device().backend().name())));
  CAPTURE(tuned.output, tuned.errors);
  REQUIRE(tuned.status == 0);
  const auto stored = steady_clock::now();
  CHECK(comes_true([&] { return plan.newest().is_final; }));
  const std::chrono::duration<double> seconds = steady_clock::now() - stored;
  std::cout << server.device().backend().name() << ": the winner runs " << seconds.count()
            << " s after tune-all has ended\n";
  CHECK(server.kernel_counters().compiled == compiled);
}

}  // namespace

TEST_CASE("A server's next calls run the winners that tune-all stores beside it") {
  for (const Policy policy : {Policy::kStored, Policy::kCompile}) {
    const Shell shell;
    const HostCall call(40, 24, 20);
    const auto server = server_on(shell, host_backend(), policy);
    const Plan& plan = server->plan(call.checked(), {});
    check_goes_over(shell, *server, call, plan);
    CHECK(call.is_right_with(plan.newest()));
  }
}

TEST_CASE("A server's next calls on a GPU run the winners that tune-all stores beside it",
          "[gpu]") {
  std::string why_not;
  if (cuda_backend().device_count(&why_not) == 0) {
    TUNEDGEMM_SKIP("no CUDA device: " + why_not);
  }
  const Shell shell;
  const HostCall neighbour(256, 512, 1024), call(512, 256, 1024), another(256, 256, 1024);
  REQUIRE(shell.run(tune_all(neighbour, "cuda")).status == 0);  // policy stored needs a kernel
  for (const Policy policy : {Policy::kStored, Policy::kCompile}) {
    const HostCall& untuned = policy == Policy::kStored ? call : another;
    const auto server = server_on(shell, cuda_backend(), policy);
    const Plan& plan = server->plan(untuned.checked(), {});
    check_goes_over(shell, *server, untuned, plan);
    CHECK(is_right_on_device(*server, untuned, plan.newest()));
  }
}

}  // namespace tunedgemm::internal
