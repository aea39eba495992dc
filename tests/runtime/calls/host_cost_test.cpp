// Compares the host time of a warm call with a bare launch of the same kernel. The call must
// allocate nothing.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

#include "runtime/calls/arguments.h"
#include "runtime/calls/launch.h"
#include "tests/runtime/support/captured_graph.h"
#include "tests/support/catch.h"
#include "tests/support/device_fixture.h"

namespace {

thread_local std::int64_t allocations = 0;

}  // namespace

// These functions count this thread's allocations. They replace operator new in the whole test
// program.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes);
}
void* operator new(std::size_t bytes) {
  if (void* memory = operator new(bytes, std::nothrow)) {
    return memory;
  }
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

using namespace tunedgemm::internal;

namespace {

using SteadyClock = std::chrono::steady_clock;

// Few enough that the GPU's queue never fills, so that only host work is timed.
constexpr int kCallsPerRound = 200;
constexpr int kRounds = 101;

struct CallTimes {
  const char* name;
  std::vector<double> us{};

  double median_us() {
    std::sort(us.begin(), us.end());
    return us[us.size() / 2];
  }
};

template <class Call>
void time_round(CallTimes& times, Device& device, Call call) {
  const auto start = SteadyClock::now();
  for (int index = 0; index < kCallsPerRound; ++index) {
    call();
  }
  const std::chrono::duration<double, std::micro> spent = SteadyClock::now() - start;
  device.synchronize(nullptr);
  times.us.push_back(spent.count() / kCallsPerRound);
}

}  // namespace

TEST_CASE("A warm call costs little more than the launch and allocates nothing", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU_CONTEXT(context);
  Device& device = context->device();
  const Device::Current current(device);

  constexpr std::int64_t kSize = 64;
  const auto memory = device.allocate(3 * kSize * kSize * 4);
  device.set_bytes(memory->data(), 0, memory->size_bytes());
  char* base = static_cast<char*>(memory->data());
  const tunedgemm_problem problem{.m = kSize, .n = kSize, .k = kSize};
  const tunedgemm_buffers buffers{
      .a = base, .b = base + kSize * kSize * 4, .d = base + 2 * kSize * kSize * 4};

  // Does the same as tunedgemm_matmul with a context.
  const auto matmul = [&] {
    const Plan* plan = context->find_plan(call_key(problem, buffers));
    if (plan == nullptr) {
      plan = &context->plan(checked_call(call_key(problem, buffers)), nullptr);
    }
    const bool usable = plainly_usable(*plan, buffers);
    return usable ? tunedgemm::internal::launch(*plan, buffers, nullptr) : -1;
  };
  REQUIRE(matmul() == 0);
  const Plan& plan = *context->find_plan(call_key(problem, buffers));
  Arguments arguments = plan.arguments;
  arguments.a = buffers.a;
  arguments.b = buffers.b;
  arguments.d = buffers.d;
  const auto bare = [&] { return plan.kernel->run(plan.launch, arguments, nullptr); };

  // Launches the same kernel with a workspace, which it ignores.
  Launch with_workspace = plan.launch;
  with_workspace.workspace_bytes = kWorkspaceCounterBytes;
  const auto run_with_workspace = [&](StreamHandle stream) {
    return context->workspaces().run(*plan.kernel, with_workspace, arguments, stream);
  };
  const StreamHandle per_thread = per_thread_stream();
  for (const StreamHandle stream : {StreamHandle{}, per_thread}) {
    REQUIRE(run_with_workspace(stream) == 0);
  }

  const std::int64_t before = allocations;
  REQUIRE(matmul() == 0);
  REQUIRE(run_with_workspace(per_thread) == 0);
  CHECK(allocations == before);

  CallTimes bare_times{"bare launch"};
  CallTimes matmul_times{"tuned_matmul"};
  CallTimes workspace_times{"with a workspace"};
  CallTimes per_thread_times{"per-thread stream"};
  for (int round = 0; round < kRounds; ++round) {
    time_round(bare_times, device, bare);
    time_round(matmul_times, device, matmul);
    time_round(workspace_times, device, [&] { return run_with_workspace(nullptr); });
    time_round(per_thread_times, device, [&] { return run_with_workspace(per_thread); });
    device.synchronize(per_thread);
  }
  for (CallTimes* times : {&matmul_times, &workspace_times, &per_thread_times}) {
    std::printf("host cost of a warm call on %s, %-17s %.3f us, %.3f of a bare launch\n",
                device.identity().name.c_str(), times->name, times->median_us(),
                times->median_us() / bare_times.median_us());
    CHECK(times->median_us() <= 1.15 * bare_times.median_us());
  }
}
