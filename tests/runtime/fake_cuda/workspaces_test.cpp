// Tests the workspace of a launch and its lifetime, for streams, threads, captured graphs and their
// branches, and contexts that are destroyed before their graphs.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "runtime/calls/arguments.h"
#include "tests/runtime/fake_cuda/fake_gpu.h"
#include "tests/runtime/support/captured_graph.h"
#include "tests/support/catch.h"
#include "tests/support/comes_true.h"

namespace tunedgemm::internal::fake_cuda {
namespace {

// The workspaces of the last launches, oldest first.
std::vector<const void*> last_workspaces(std::size_t count) {
  const std::vector<Product> products = control().products();
  REQUIRE(products.size() >= count);
  std::vector<const void*> workspaces;
  std::transform(products.end() - static_cast<std::ptrdiff_t>(count), products.end(),
                 std::back_inserter(workspaces),
                 [](const Product& product) { return product.workspace; });
  return workspaces;
}

std::size_t different(const std::vector<const void*>& workspaces) {
  return std::set<const void*>(workspaces.begin(), workspaces.end()).size();
}

// K is long enough for split-K.
constexpr std::int64_t kLongK = 512;

// A context, and a plan that needs a workspace.
struct Planned {
  SmallProduct product{kLongK};
  std::unique_ptr<Context> context = open_context();
  const Plan& plan = split_k_plan(*context, product);

  int run(StreamHandle stream, int index = 0) const {
    return launch(plan, product.buffers(index), stream);
  }
};

}  // namespace

TEST_CASE("Threads on their per-thread streams have their own workspaces") {
  const FakeGpu gpu;
  const Planned planned;
  constexpr int kThreads = 8, kLaunches = 50;
  std::vector<int> failed(kThreads);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const OnDevice device(0);
      for (int count = 0; count < kLaunches; ++count) {
        failed[static_cast<std::size_t>(thread)] += planned.run(per_thread_stream(), thread) != 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(failed == std::vector<int>(kThreads));
  std::set<std::pair<unsigned long long, const void*>> pairs;
  for (const Product& product : control().products()) {
    pairs.emplace(product.stream, product.workspace);
  }
  CHECK(pairs.size() == kThreads);
  CHECK(different(last_workspaces(kThreads * kLaunches)) == kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    CHECK(planned.product.is_right(thread));
  }
}

TEST_CASE("A stream at the address of a destroyed one does not get its workspace") {
  const FakeGpu gpu;
  const Planned planned;
  cuda::CUstream before = nullptr;
  {
    const OwnStream stream;
    before = stream.handle();
    CHECK(planned.run(stream.handle()) == 0);
  }
  const OwnStream stream;
  REQUIRE(stream.handle() == before);
  CHECK(planned.run(stream.handle()) == 0);
  CHECK(different(last_workspaces(2)) == 2);
}

TEST_CASE("A thread with another current device, or none, launches on the context's device") {
  const FakeGpu gpu;
  const Planned planned;
  const OwnStream stream;
  {
    const OnDevice other(1);
    CHECK(planned.run(stream.handle(), 0) == 0);
  }
  std::thread([&] { CHECK(planned.run(stream.handle(), 1) == 0); }).join();
  CHECK(planned.product.is_right(0));
  CHECK(planned.product.is_right(1));
  CHECK(different(last_workspaces(2)) == 1);
}

TEST_CASE("A graph's workspace lives as long as the graph, its clones and its executables") {
  const FakeGpu gpu;
  const Planned planned;
  const auto graph_workspaces = [&] { return planned.context->workspaces().graph_workspaces(); };
  const OwnStream stream;
  CHECK(planned.run(stream.handle()) == 0);
  stream.begin_capture();
  CHECK(planned.run(stream.handle(), 1) == 0);
  CHECK(planned.run(stream.handle(), 2) == 0);
  const std::vector<const void*> used = last_workspaces(3);
  CHECK(used[0] != used[1]);
  CHECK(used[1] == used[2]);
  const cuda::CUgraph graph = stream.end_capture();

  cuda::CUgraph clone = nullptr;
  REQUIRE(control().clone(&clone, graph) == cuda::CUDA_SUCCESS);
  test_driver().cuGraphDestroy(graph);
  CHECK(graph_workspaces() == 1);
  cuda::CUgraphExec executable = nullptr;
  test_driver().cuGraphInstantiate(&executable, clone, 0);
  test_driver().cuGraphDestroy(clone);
  CHECK(graph_workspaces() == 1);
  planned.product.erase();
  CHECK(test_driver().cuGraphLaunch(executable, stream.handle()) == cuda::CUDA_SUCCESS);
  CHECK(planned.run(stream.handle(), 3) == 0);
  CHECK(last_workspaces(1)[0] == used[0]);
  for (const int index : {1, 2, 3}) {
    CHECK(planned.product.is_right(index));
  }
  test_driver().cuGraphExecDestroy(executable);
  CHECK(graph_workspaces() == 0);
}

TEST_CASE("Captured branches have their own workspaces, and a launch after one reuses it") {
  const FakeGpu gpu;
  const Planned planned;
  constexpr int kBranches = 3;
  const OwnStream origin;
  const OwnEvent fork;
  origin.begin_capture();
  TUNEDGEMM_CHECK(test_driver(), cuEventRecord(fork.handle(), origin.handle()), "the fork");
  for (int branch = 0; branch < kBranches; ++branch) {
    const OwnStream stream;  // its handle is reused by the next branch
    const OwnEvent join;
    TUNEDGEMM_CHECK(test_driver(), cuStreamWaitEvent(stream.handle(), fork.handle(), 0), "a fork");
    CHECK(planned.run(stream.handle(), 2 * branch) == 0);
    CHECK(planned.run(stream.handle(), 2 * branch + 1) == 0);
    TUNEDGEMM_CHECK(test_driver(), cuEventRecord(join.handle(), stream.handle()), "a join");
    TUNEDGEMM_CHECK(test_driver(), cuStreamWaitEvent(origin.handle(), join.handle(), 0), "a join");
  }
  CHECK(planned.context->workspaces().graph_workspaces() == kBranches);
  CHECK(planned.run(origin.handle(), 2 * kBranches) == 0);  // after all of them
  CHECK(planned.context->workspaces().graph_workspaces() == kBranches);
  CHECK(different(last_workspaces(2 * kBranches + 1)) == kBranches);
  const CapturedGraph executable(origin);
  executable.launch_on(origin.handle());
  for (int index = 0; index < 2 * kBranches + 1; ++index) {
    CHECK(planned.product.is_right(index));
  }
}

TEST_CASE("Two graphs captured at the same time have their own workspaces") {
  const FakeGpu gpu;
  const Planned planned;
  const OwnStream first, second;
  first.begin_capture();
  second.begin_capture();
  CHECK(planned.run(first.handle(), 0) == 0);
  CHECK(planned.run(second.handle(), 1) == 0);
  CHECK(different(last_workspaces(2)) == 2);
  CHECK(planned.context->workspaces().graph_workspaces() == 2);
  test_driver().cuGraphDestroy(first.end_capture());
  CHECK(planned.context->workspaces().graph_workspaces() == 1);
  test_driver().cuGraphDestroy(second.end_capture());
}

TEST_CASE("Creating a plan and allocating a workspace during a capture leave it valid") {
  const FakeGpu gpu;
  const Planned planned;
  const SmallProduct another(64);
  const OwnStream captured, other;
  captured.begin_capture();  // in the most restrictive mode
  CHECK(planned.run(captured.handle(), 0) == 0);
  std::thread([&] {
    const OnDevice device(0);
    const CallKey key = call_key(another.problem(), another.buffers());
    CHECK(launch(planned.context->plan(checked_call(key), other.handle()), another.buffers(),
                 other.handle()) == 0);
    CHECK(another.is_right());
    CHECK(planned.run(other.handle(), 1) == 0);
  }).join();
  const CapturedGraph executable(captured);
  executable.launch_on(captured.handle());
  CHECK(planned.product.is_right(0));
}

TEST_CASE("A context may be destroyed before or after the graphs of its launches") {
  const FakeGpu gpu;
  for (const bool context_first : {true, false}) {
    auto planned = std::make_unique<Planned>();
    const OwnStream stream;
    stream.begin_capture();
    CHECK(planned->run(stream.handle()) == 0);
    auto executable = std::make_unique<CapturedGraph>(stream);
    if (context_first) {
      planned.reset();
      executable.reset();
    } else {
      executable.reset();
      planned.reset();
    }
    CHECK(FakeGpu::why_not_clean() ==
          "1 streams 1 references to contexts 1 contexts pushed by "
          "this thread ");
  }
}

TEST_CASE("A caller's workspace is used instead of the context's, captured or not") {
  const FakeGpu gpu;
  const Planned planned;
  const auto bytes = planned.plan.launch.workspace_bytes;
  const auto workspace = planned.context->device().allocate(bytes);
  planned.context->device().set_bytes(workspace->data(), 0, bytes);
  tunedgemm_buffers buffers = planned.product.buffers();
  buffers.workspace = workspace->data();
  buffers.workspace_bytes = static_cast<std::size_t>(bytes);
  const OwnStream stream;
  CHECK(launch(planned.plan, buffers, stream.handle()) == 0);
  CHECK(planned.product.is_right());
  stream.begin_capture();
  CHECK(launch(planned.plan, buffers, stream.handle()) == 0);
  const CapturedGraph executable(stream);
  CHECK(last_workspaces(2) == std::vector<const void*>(2, workspace->data()));
  CHECK(planned.context->workspaces().stream_workspaces() == 0);
  CHECK(planned.context->workspaces().graph_workspaces() == 0);
  buffers.workspace_bytes -= 1;
  CHECK(launch(planned.plan, buffers, stream.handle()) == 0);
  CHECK(last_workspaces(1)[0] != workspace->data());
}

TEST_CASE("A launch without memory for its workspace runs a kernel that needs none") {
  const FakeGpu gpu;
  const Planned planned;
  const OwnStream stream;
  control().limit_memory(0);
  CHECK(planned.run(stream.handle()) == 0);
  CHECK(planned.product.is_right());
  CHECK(last_workspaces(1)[0] == nullptr);

  planned.product.erase();
  stream.begin_capture();
  CHECK(planned.run(stream.handle()) == 0);
  {
    const CapturedGraph executable(stream);
    executable.launch_on(stream.handle());
    CHECK(planned.product.is_right());
  }
  CHECK(last_workspaces(1)[0] == nullptr);

  control().limit_memory(std::size_t{1} << 30);
  CHECK(comes_true(
      [&] { return planned.run(stream.handle()) == 0 && last_workspaces(1)[0] != nullptr; }));
}

TEST_CASE("A launch with a new workspace survives the failure of any driver call") {
  constexpr cuda::CUresult kUnknown = 999;
  std::map<std::string, int> calls;
  for (const bool captures : {false, true}) {
    const auto run = [&](const Planned& planned, StreamHandle stream) {
      try {
        return planned.run(stream) == 0;
      } catch (const DeviceError& error) {
        return std::string(error.what()).empty();
      }
    };
    const auto attempt = [&](const std::string& function, int nth) {
      const FakeGpu gpu;
      const Planned planned;
      const OwnStream stream;
      const OnDevice other(1);
      const std::map<std::string, int> before = control().calls();
      if (captures) {
        stream.begin_capture();
      }
      control().fail(function, nth, kUnknown, Lasts::kOnce);
      const bool is_done = run(planned, stream.handle());
      calls = control().calls();
      for (const auto& [name, count] : before) {
        calls[name] -= count;
      }
      CHECK((is_done || control().has_failed()));
      CHECK(run(planned, stream.handle()));
      if (captures) {
        const CapturedGraph executable(stream);
        executable.launch_on(stream.handle());
      }
      CHECK(planned.product.is_right());
    };
    attempt("", 1);
    for (const auto& [function, count] : std::map<std::string, int>(calls)) {
      for (int nth = 1; nth <= count; ++nth) {
        INFO("call " << nth << " of " << function << (captures ? ", captured" : ""));
        attempt(function, nth);
      }
    }
  }
}

}  // namespace tunedgemm::internal::fake_cuda
