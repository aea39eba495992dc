// Plans run their own kernels on threads, streams, captured graphs and branches of graphs. Launches
// that may run at the same time must not share a workspace.

#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "kernel_templates/cuda/families.h"
#include "runtime/calls/arguments.h"
#include "runtime/calls/launch.h"
#include "tests/runtime/support/captured_graph.h"
#include "tests/runtime/support/winner_record.h"
#include "tests/support/catch.h"
#include "tests/support/comes_true.h"
#include "tests/support/device_fixture.h"
#include "tests/support/seed.h"
#include "tests/support/skip.h"

namespace tunedgemm::internal {
namespace {

constexpr std::int64_t kM = 256, kN = 512, kK = 8192;
constexpr std::int64_t kBytesD = kM * kN * 2;

using Bits = std::vector<std::uint16_t>;

// Predicates that select the kernel to store as the winner.
bool splits_k(const Instance& instance) {
  return instance.launch.needs_workspace();
}
bool asks_for_gpcs(const Instance& instance) {
  return instance.launch.workspace_is_optional;
}

// Stores a winner that satisfies the predicate in the context's cache, and creates its plan on the
// default stream. Each user, such as a thread or a branch of a graph, has different operands.
struct PlannedWinner {
  PlannedWinner(Context& of, bool (*is_wanted)(const Instance&)) : context(of) {
    const CanonicalProblem canonical_problem =
        canonical(make_problem(kM, kN, kK, DataType::kF16, DataType::kF16, DataType::kF16));
    for (const Instance& instance : ranked_candidates(canonical_problem, device.limits())) {
      if (is_wanted(instance)) {
        winner = store_winner(context.store(), instance, device).config;
        break;
      }
    }
    problem = {.m = kM,
               .n = kN,
               .k = kK,
               .type_a = TUNEDGEMM_TYPE_F16,
               .type_b = TUNEDGEMM_TYPE_F16,
               .type_d = TUNEDGEMM_TYPE_F16};
    std::mt19937 random(test_seed());
    std::vector<std::uint16_t> elements(static_cast<std::size_t>((kM + kN) * kK + kMostUsers * 64));
    for (std::uint16_t& element : elements) {  // in [0.5, 1), with either sign
      element = static_cast<std::uint16_t>((random() & 0x83ff) | 0x3800);
    }
    operands = device.allocate(static_cast<std::int64_t>(elements.size()) * 2);
    device.copy_to_device(operands->data(), elements.data(), operands->size_bytes());
    const tunedgemm_buffers some = buffers(0, operands->data());
    plan = &context.plan(checked_call(call_key(problem, some)), nullptr);
    REQUIRE((winner.knobs().empty() || plan->candidate.config == winner));
  }

  tunedgemm_buffers buffers(int user, void* d) const {
    char* const base = static_cast<char*>(operands->data()) + user * 128;
    return {.a = base, .b = base + kM * kK * 2, .d = d};
  }

  static constexpr int kMostUsers = 16;

  Context& context;
  Device& device = context.device();
  Config winner;
  tunedgemm_problem problem;
  std::unique_ptr<DeviceMemory> operands;
  const Plan* plan = nullptr;
};

// Several results of one user, and the expected bits from an undisturbed run.
struct Results {
  Results(const PlannedWinner& all, int of_user, int how_many)
      : planned(all), user(of_user), count(how_many), memory(all.device.allocate(count * kBytesD)) {
    poison();
    const tunedgemm_buffers quiet = planned.buffers(user, at(0));
    REQUIRE(launch(*planned.plan, quiet, nullptr) == 0);
    planned.device.synchronize(nullptr);
    expected.resize(kM * kN);
    planned.device.copy_to_host(expected.data(), at(0), kBytesD);
    poison();
  }

  void* at(int index) const { return static_cast<char*>(memory->data()) + index * kBytesD; }
  int run(int index, StreamHandle stream) const {
    return launch(*planned.plan, planned.buffers(user, at(index)), stream);
  }
  void poison() const {  // with NaN
    planned.device.set_bytes(memory->data(), 0xff, memory->size_bytes());
  }
  int wrong() const {
    Bits bits(expected.size());
    int different = 0;
    for (int index = 0; index < count; ++index) {
      planned.device.copy_to_host(bits.data(), at(index), kBytesD);
      different += bits != expected;
    }
    return different;
  }

  const PlannedWinner& planned;
  int user, count;
  std::unique_ptr<DeviceMemory> memory;
  Bits expected;
};

}  // namespace

TEST_CASE("A plan made on one stream is captured with its own kernel on another", "[gpu]") {
  for (const auto is_wanted : {splits_k, asks_for_gpcs}) {
    TUNEDGEMM_OPEN_TEST_GPU_CONTEXT(context);
    const Device::Current current(context->device());
    const PlannedWinner planned(*context, is_wanted);
    if (planned.winner.knobs().empty()) {
      continue;  // no such kernel for this GPU
    }
    const Results results(planned, 0, 3);
    const OwnStream stream;
    stream.begin_capture();
    for (int index = 0; index < 3; ++index) {
      CHECK(results.run(index, stream.handle()) == 0);
    }
    CHECK(context->workspaces().graph_workspaces() == 1);
    {
      const CapturedGraph executable(stream);
      for (int replay = 0; replay < 3; ++replay) {
        results.poison();
        executable.launch_on(stream.handle());
        context->device().synchronize(stream.handle());
        CHECK(results.wrong() == 0);
      }
    }
    context->device().synchronize(stream.handle());
    CHECK(comes_true([&] { return context->workspaces().graph_workspaces() == 0; }));
  }
}

TEST_CASE("A captured kernel overlaps with the previous one if that is one of this library",
          "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU_CONTEXT(context);
  const Device::Current current(context->device());
  const PlannedWinner planned(*context, [](const Instance& instance) {
    return instance.launch.programmatic == ProgrammaticLaunch::kAfterOwn;
  });
  if (planned.winner.knobs().empty()) {
    TUNEDGEMM_SKIP("no kernel of this GPU may overlap with another");
  }
  const Results results(planned, 0, 3);
  const auto other = context->device().allocate(256);
  const OwnStream stream;
  const auto kind_of_edge = [&] {
    cuda::CUstreamCaptureStatus status{};
    unsigned long long id = 0;
    cuda::CUgraph graph = nullptr;
    const cuda::CUgraphNode* last = nullptr;
    const cuda::CUgraphEdgeData* ignored = nullptr;
    std::size_t count = 0;
    TUNEDGEMM_CHECK(
        test_driver(),
        cuStreamGetCaptureInfo_v3(stream.handle(), &status, &id, &graph, &last, &ignored, &count),
        "a stream");
    REQUIRE(count == 1);
    cuda::CUgraphNode before = nullptr;
    cuda::CUgraphEdgeData edge{};
    count = 1;
    TUNEDGEMM_CHECK(test_driver(), cuGraphNodeGetDependencies_v2(*last, &before, &edge, &count),
                    "a node");
    return static_cast<int>(edge.type);
  };
  constexpr int kFull = 0, kProgrammatic = 1;  // CU_GRAPH_DEPENDENCY_TYPE_...
  stream.begin_capture();
  CHECK(results.run(0, stream.handle()) == 0);
  CHECK(results.run(1, stream.handle()) == 0);
  CHECK(kind_of_edge() == kProgrammatic);
  CHECK(context->device().set_bytes_async(other->data(), 0, 256, stream.handle()) == 0);
  CHECK(results.run(2, stream.handle()) == 0);
  CHECK(kind_of_edge() == kFull);
  const CapturedGraph executable(stream);
  results.poison();
  executable.launch_on(stream.handle());
  context->device().synchronize(stream.handle());
  CHECK(results.wrong() == 0);
}

TEST_CASE("Threads on their per-thread default streams do not share a workspace", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU_CONTEXT(context);
  const Device::Current current(context->device());
  constexpr int kThreads = 8, kRounds = 50, kLaunches = 25;
  const PlannedWinner planned(*context, splits_k);
  REQUIRE(planned.plan->launch.needs_workspace());
  std::vector<std::unique_ptr<Results>> results;
  for (int thread = 0; thread < kThreads; ++thread) {
    results.push_back(std::make_unique<Results>(planned, thread, kLaunches));
  }
  std::vector<int> wrong(kThreads), failed(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const Device::Current of_thread(context->device());
      for (int round = 0; round < kRounds; ++round) {
        results[thread]->poison();
        for (int index = 0; index < kLaunches; ++index) {
          failed[thread] += results[thread]->run(index, per_thread_stream()) != 0;
        }
        test_driver().cuStreamSynchronize(per_thread_stream());
        wrong[thread] += results[thread]->wrong();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(failed == std::vector<int>(kThreads));
  CHECK(wrong == std::vector<int>(kThreads));
}

TEST_CASE("Branches of a capture, and eager launches during its replays, have their own workspaces",
          "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU_CONTEXT(context);
  const Device::Current current(context->device());
  const PlannedWinner planned(*context, splits_k);
  REQUIRE(planned.plan->launch.needs_workspace());
  constexpr int kBranches = 6, kLaunches = 10;
  std::vector<std::unique_ptr<Results>> results;
  for (int branch = 0; branch < kBranches + 1; ++branch) {
    results.push_back(std::make_unique<Results>(planned, branch, kLaunches));
  }
  const OwnStream origin, replaying;
  const OwnEvent fork;
  origin.begin_capture();
  TUNEDGEMM_CHECK(test_driver(), cuEventRecord(fork.handle(), origin.handle()), "the fork");
  for (int branch = 0; branch < kBranches; ++branch) {
    const OwnStream stream;  // its handle may be reused by the next branch
    const OwnEvent join;
    TUNEDGEMM_CHECK(test_driver(), cuStreamWaitEvent(stream.handle(), fork.handle(), 0),
                    "the fork");
    for (int index = 0; index < kLaunches; ++index) {
      REQUIRE(results[static_cast<std::size_t>(branch)]->run(index, stream.handle()) == 0);
    }
    TUNEDGEMM_CHECK(test_driver(), cuEventRecord(join.handle(), stream.handle()), "a join");
    TUNEDGEMM_CHECK(test_driver(), cuStreamWaitEvent(origin.handle(), join.handle(), 0), "a join");
  }
  CHECK(context->workspaces().graph_workspaces() == kBranches);
  const CapturedGraph executable(origin);
  const Results& eager = *results.back();
  int wrong = 0;
  for (int replay = 0; replay < 150; ++replay) {
    for (const auto& each : results) {
      each->poison();
    }
    executable.launch_on(replaying.handle());
    for (int index = 0; index < kLaunches; ++index) {  // on the captured handle
      REQUIRE(eager.run(index, origin.handle()) == 0);
    }
    context->device().synchronize(replaying.handle());
    context->device().synchronize(origin.handle());
    for (const auto& each : results) {
      wrong += each->wrong();
    }
  }
  CHECK(wrong == 0);
}

}  // namespace tunedgemm::internal
