// Tests the choice of a call's device, the owner of the call's memory, and whether this process may
// use the device.

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/calls/arguments.h"
#include "runtime/calls/process_contexts.h"
#include "tests/runtime/fake_cuda/fake_gpu.h"
#include "tests/runtime/fake_cuda/fake_nvml.h"
#include "tests/runtime/support/c_program.h"
#include "tests/support/catch.h"
#include "tests/support/skip.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::internal::fake_cuda {
namespace {

tunedgemm_context* open_by_c(int ordinal) {
  const tunedgemm_context_options options = c_options(TUNEDGEMM_POLICY_COMPILE, ordinal);
  tunedgemm_context* context = nullptr;
  return tunedgemm_context_create(&options, &context) == TUNEDGEMM_STATUS_OK ? context : nullptr;
}

tunedgemm_status plan_by_c(tunedgemm_context* context, const SmallProduct& product,
                           const tunedgemm_buffers& buffers) {
  const tunedgemm_plan* plan = nullptr;
  return tunedgemm_plan_create(context, &product.problem(), &buffers, nullptr, &plan);
}

}  // namespace

TEST_CASE("A call without a context uses the current device of its thread") {
  const FakeGpu gpu;
  const OnDevice second_is_kept(1);
  std::atomic<int> created{0};
  ProcessContexts contexts(cuda_backend, [&](const Backend&, int ordinal) {
    ++created;
    return open_context(Policy::kCompile, ordinal);
  });
  const auto is_right_on = [&](int ordinal) {
    const OnDevice device(ordinal);
    const SmallProduct product;
    Context& context = contexts.current();
    const CallKey key = call_key(product.problem(), product.buffers());
    return context.options().device.ordinal == ordinal &&
           launch(context.plan(checked_call(key), nullptr), product.buffers(), nullptr) == 0 &&
           product.is_right();
  };
  for (const int ordinal : {1, 0, 1}) {
    CHECK(is_right_on(ordinal));
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  threads.reserve(5);
  for (const int ordinal : {0, 1, 0, 1}) {
    threads.emplace_back([&, ordinal] { wrong += !is_right_on(ordinal); });
  }
  threads.emplace_back(
      [&] { wrong += contexts.current().options().device.ordinal != 0; });  // has no device
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(wrong == 0);
  CHECK(created == 2);  // threads of one device share its context
}

TEST_CASE("A context whose creation failed is retried by the next call") {
  const FakeGpu gpu;
  bool fails = true;
  ProcessContexts contexts(cuda_backend, [&](const Backend&, int ordinal) {
    if (fails) {
      throw std::runtime_error("not now");
    }
    return open_context(Policy::kCompile, ordinal);
  });
  CHECK_THROWS_AS(contexts.current(), std::runtime_error);
  fails = false;
  CHECK(contexts.current().options().device.ordinal == 0);
}

TEST_CASE("A tuned winner is checked, timed and stored, and runs correctly") {
  const FakeGpu gpu;
  const SmallProduct product;
  const auto context = open_context(Policy::kTune);
  const Plan& plan =
      context->plan(checked_call(call_key(product.problem(), product.buffers())), nullptr);
  INFO(plan.description);
  CHECK(context->store().health().winners == 1);
  CHECK(launch(plan, product.buffers(), nullptr) == 0);
  CHECK(product.is_right());
}

TEST_CASE(
    "Memory that the device cannot read is refused when a plan is created, and at the first run") {
  const FakeGpu gpu;
  const SmallProduct product;
  tunedgemm_context* const context = open_by_c(0);
  REQUIRE(context != nullptr);
  std::vector<float> on_host(static_cast<std::size_t>(SmallProduct::kM * SmallProduct::kN));
  tunedgemm_buffers buffers = product.buffers();
  buffers.d = on_host.data();
  CHECK(plan_by_c(context, product, buffers) == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(tunedgemm_error_message(), Catch::Matchers::ContainsSubstring("is host memory"));
  CHECK(tunedgemm_matmul(context, &product.problem(), &buffers, nullptr) ==
        TUNEDGEMM_STATUS_INVALID_ARGUMENT);
  {
    const OnDevice other(1);
    const SmallProduct elsewhere;
    buffers = product.buffers();
    buffers.a = elsewhere.buffers().a;
    CHECK(plan_by_c(context, product, buffers) == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
    CHECK_THAT(tunedgemm_error_message(),
               Catch::Matchers::ContainsSubstring("is memory of cuda:1"));
  }
  CHECK(plan_by_c(context, product, product.buffers()) == TUNEDGEMM_STATUS_OK);
  tunedgemm_context_destroy(context);
}

TEST_CASE("A process that keeps the GPU busy is noticed, one that only has memory there is not") {
  const FakeGpu gpu;
  void* const nvml = dlopen(TUNEDGEMM_FAKE_NVML, RTLD_NOW | RTLD_LOCAL);
  const auto set = reinterpret_cast<SetNeighbour>(dlsym(nvml, kSetNeighbourSymbol));
  const auto context = open_context(Policy::kCompile, 0);
  const auto neighbour = [&](const Neighbour& other) {
    set(&other);
    return context->device().neighbour(std::chrono::system_clock::now() - std::chrono::seconds(1));
  };
  const auto pid = static_cast<unsigned>(getppid());
  CHECK(neighbour({.pid = 1, .sm_percent = 97}).starts_with("process 1"));
  CHECK(neighbour({.pid = 1, .sm_percent = 3}).empty());
  CHECK(neighbour({.pid = 1, .sm_percent = 97, .age_us = 2'000'000}).empty());
  CHECK(neighbour({.pid = 1, .sm_percent = 97, .shows_this_process = false}).empty());
  CHECK(neighbour({.pid = pid, .sm_percent = 97}).empty());
  CHECK(neighbour({}).empty());
}

TEST_CASE("A missing device is refused with a message") {
  const FakeGpu gpu;
  CHECK(open_by_c(2) == nullptr);
  CHECK_THAT(tunedgemm_error_message(), Catch::Matchers::ContainsSubstring("no CUDA device 2"));
}

TEST_CASE("A forked child is refused its parent's GPU without any call of the driver") {
  if (!kCanForkBesideThreads) {
    TUNEDGEMM_SKIP(kWhyNoForkBesideThreads);
  }
  const FakeGpu gpu;
  tunedgemm_context* const context = open_by_c(0);
  REQUIRE(context != nullptr);
  const SmallProduct product;
  REQUIRE(plan_by_c(context, product, product.buffers()) == TUNEDGEMM_STATUS_OK);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    const std::map<std::string, int> before = control().calls();
    const tunedgemm_buffers buffers = product.buffers();
    const auto told_of_fork = [] {
      return std::string(tunedgemm_error_message()).find("fork()") != std::string::npos;
    };
    const bool is_refused =
        tunedgemm_matmul(context, &product.problem(), &buffers, nullptr) != TUNEDGEMM_STATUS_OK &&
        told_of_fork() && open_by_c(0) == nullptr && told_of_fork();
    tunedgemm_context_destroy(context);
    _exit(!is_refused ? 1 : control().calls() != before ? 2 : 0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  tunedgemm_context_destroy(context);
}

}  // namespace tunedgemm::internal::fake_cuda
