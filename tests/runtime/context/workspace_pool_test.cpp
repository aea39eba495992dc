// Which launches share a workspace, on a device whose streams and graphs only pretend.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "runtime/context/workspace_pool.h"
#include "tests/runtime/support/plain_device.h"
#include "tests/support/catch.h"
#include "tests/support/seed.h"

namespace tunedgemm::internal {
namespace {

// A graph that is being captured: each node with those before it.
struct Graph {
  struct Node {
    std::vector<const Node*> before;
  };
  std::uint64_t id = 0;
  std::vector<std::unique_ptr<Node>> nodes{};
  std::vector<std::shared_ptr<void>> kept{};
};

struct Stream {
  std::uint64_t id = 0;
  Graph* graph = nullptr;                    // into which it is captured
  std::vector<const Graph::Node*> behind{};  // what is captured next comes after these

  const Graph::Node* capture_node() {
    graph->nodes.push_back(std::make_unique<Graph::Node>(Graph::Node{behind}));
    behind = {graph->nodes.back().get()};
    return behind.front();
  }
};

class Capture final : public StreamCapture {
 public:
  explicit Capture(const Stream& stream) : stream_(stream) {}
  std::uint64_t id() const override { return stream_.graph->id; }
  const void* nearest_before(std::span<const void* const> nodes) const override {
    const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const void* node) {
      return reaches(stream_.behind, node);
    });
    return found == nodes.end() ? nullptr : *found;
  }
  const void* last_node() const override {
    return stream_.behind.size() == 1 ? stream_.behind.front() : nullptr;
  }
  void keep(std::shared_ptr<void> object) const override {
    stream_.graph->kept.push_back(std::move(object));
  }

 private:
  static bool reaches(const std::vector<const Graph::Node*>& from, const void* node) {
    return std::any_of(from.begin(), from.end(), [&](const Graph::Node* each) {
      return each == node || reaches(each->before, node);
    });
  }
  const Stream& stream_;
};

class StreamsDevice final : public PlainDevice {
 public:
  StreamsDevice()
      : PlainDevice(make_problem(1, 1, 1, DataType::kF32, DataType::kF32, DataType::kF32),
                    Flaw::kNone) {}

  std::optional<std::uint64_t> stream_id(StreamHandle handle) const noexcept override {
    const Stream& stream = *static_cast<const Stream*>(handle);
    return stream.graph == nullptr ? std::optional(stream.id) : std::nullopt;
  }
  std::unique_ptr<StreamCapture> capture_of(StreamHandle handle) const override {
    const Stream& stream = *static_cast<const Stream*>(handle);
    return stream.graph == nullptr ? nullptr : std::make_unique<Capture>(stream);
  }
  std::unique_ptr<DeviceMemory> allocate(std::int64_t bytes) override {
    if (bytes > limit_bytes) {
      throw DeviceError(DeviceError::Kind::kOutOfMemory, "no such memory");
    }
    ++allocations;
    return std::make_unique<Counted>(PlainDevice::allocate(bytes), allocated);
  }

  std::int64_t limit_bytes = 1 << 20;
  std::atomic<int> allocated{0};    // now
  std::atomic<int> allocations{0};  // ever

 private:
  struct Counted final : DeviceMemory {
    Counted(std::unique_ptr<DeviceMemory> own, std::atomic<int>& all)
        : memory(std::move(own)), count(all) {
      ++count;
    }
    ~Counted() override { --count; }
    void* data() const override { return memory->data(); }
    std::int64_t size_bytes() const override { return memory->size_bytes(); }
    std::unique_ptr<DeviceMemory> memory;
    std::atomic<int>& count;
  };
};

// Notes what it was given, and that nobody else has it meanwhile.
class NotingKernel final : public CompiledKernel {
 public:
  int run(const Launch& launch, const Arguments& arguments,
          StreamHandle handle) const noexcept override {
    last_workspace = arguments.workspace;
    last_bytes = launch.workspace_bytes;
    auto& stream = *static_cast<Stream*>(handle);
    if (stream.graph != nullptr) {
      stream.capture_node();
    }
    if (arguments.workspace != nullptr && launch.workspace_bytes > 0) {
      auto& owner = *static_cast<std::atomic<std::uint32_t>*>(arguments.workspace);
      clashes += owner.exchange(1) != 0;
      std::this_thread::yield();
      clashes += owner.exchange(0) != 1;
    }
    return 0;
  }
  static thread_local void* last_workspace;
  static thread_local std::int64_t last_bytes;
  mutable std::atomic<int> clashes{0};
};
thread_local void* NotingKernel::last_workspace = nullptr;
thread_local std::int64_t NotingKernel::last_bytes = 0;

Launch launch_with(std::int64_t bytes) {
  Launch launch;
  launch.workspace_bytes = bytes;
  return launch;
}

struct Pool {
  void* run(Stream& stream, std::int64_t bytes = 4096) {
    REQUIRE(pool.run(kernel, launch_with(bytes), {}, &stream) == 0);
    return NotingKernel::last_workspace;
  }

  StreamsDevice device;
  NotingKernel kernel;
  WorkspacePool pool{device};
};

}  // namespace

TEST_CASE("A stream keeps its workspace, and two streams never share one") {
  Pool pool;
  Stream first{.id = 7}, second{.id = 8};
  void* const of_first = pool.run(first);
  void* const of_second = pool.run(second);
  CHECK(of_first != of_second);
  CHECK(pool.run(first) == of_first);
  CHECK(pool.run(second, 64) == of_second);

  // The same handle, but another stream: the first was destroyed, or another thread asks.
  first.id = 9;
  CHECK(pool.run(first) != of_first);
  first.id = 7;
  CHECK(pool.run(first) == of_first);
}

TEST_CASE("A larger workspace takes the place of the stream's smaller one") {
  Pool pool;
  Stream stream{.id = 1};
  pool.run(stream, 4096);
  pool.run(stream, 8192);
  CHECK(pool.device.allocated == 1);
  pool.run(stream, 4096);
  CHECK(pool.device.allocated == 1);
}

TEST_CASE("Streams that come and go leave few workspaces behind") {
  Pool pool;
  Stream lasting{.id = 1};
  void* const kept = pool.run(lasting);
  std::uint64_t id = 2;
  for (int burst = 0; burst < 4; ++burst) {
    for (int count = 0; count < 500; ++count, ++id) {
      Stream stream{.id = id};
      pool.run(stream);
      REQUIRE(pool.run(lasting) == kept);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
  }
  CHECK(pool.pool.stream_workspaces() <= 1100);  // of two bursts
  for (int last = 0; last < 3; ++last) {
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    pool.run(lasting);
    Stream stream{.id = id++};
    pool.run(stream);
  }
  CHECK(pool.device.allocated <= 4);
  CHECK(pool.run(lasting) == kept);
}

TEST_CASE("Many streams that all launch keep their workspaces") {
  Pool pool;
  for (int cycle = 0; cycle < 20; ++cycle) {
    for (std::uint64_t id = 1; id <= 200; ++id) {
      Stream stream{.id = id};
      pool.run(stream);
    }
  }
  CHECK(pool.device.allocations == 200);
}

TEST_CASE("Threads with more streams than there are workspaces never share one") {
  Pool pool;
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&pool, thread] {
      std::mt19937 random(test_seed() + thread);
      for (int call = 0; call < 3000; ++call) {
        // Its own streams: a stream's launches follow each other.
        Stream stream{.id = thread * 1000 + random() % 40};
        pool.pool.run(pool.kernel, launch_with(random() % 8 == 0 ? 8192 : 4096), {}, &stream);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(pool.kernel.clashes == 0);
  // Now and then more than one a stream: a look-up holds for a moment what was freed and has become
  // another stream's, which then gets a new one where it needs more.
  CHECK(pool.pool.stream_workspaces() <= 2 * 8 * 40);
}

TEST_CASE("A graph has workspaces of its own, one for what follows each other in it") {
  Pool pool;
  Stream stream{.id = 1};
  void* const eager = pool.run(stream);

  Graph graph{.id = 100};
  stream.graph = &graph;
  void* const captured = pool.run(stream);
  CHECK(captured != eager);
  CHECK(pool.run(stream) == captured);
  stream.capture_node();  // another kernel between
  CHECK(pool.run(stream) == captured);

  SECTION("a branch may run beside the stream that it left") {
    Stream branch{.id = 2, .graph = &graph, .behind = stream.behind};
    void* const first = pool.run(stream);
    CHECK(first == captured);
    void* const second = pool.run(branch);
    CHECK(second != first);
    CHECK(pool.run(branch) == second);

    // The handle is used again for a branch that leaves where the first one did.
    const std::vector<const Graph::Node*> fork = graph.nodes.front()->before;
    Stream again{.id = 3, .graph = &graph, .behind = fork};
    void* const third = pool.run(again);
    CHECK(std::set{first, second, third}.size() == 3);

    // Behind all of them, any will do.
    stream.behind = {stream.behind.front(), branch.behind.front(), again.behind.front()};
    pool.run(stream);
    CHECK(pool.pool.graph_workspaces() == 3);
  }
  SECTION("another capture has others, also with the same nodes' addresses") {
    Graph other{.id = 101};
    Stream beside{.id = 4, .graph = &other, .behind = stream.behind};
    CHECK(pool.run(beside) != captured);
    CHECK(pool.pool.graph_workspaces() == 2);
    other.kept.clear();
    CHECK(pool.pool.graph_workspaces() == 1);
  }
  SECTION("when the stream is not captured any more it has what it had") {
    stream.graph = nullptr;
    CHECK(pool.run(stream) == eager);
  }
}

TEST_CASE("The workspaces of destroyed graphs are freed") {
  Pool pool;
  Stream stream{.id = 1};
  for (std::uint64_t capture = 1; capture < 50; ++capture) {
    Graph graph{.id = capture};
    stream.graph = &graph;
    stream.behind.clear();
    pool.run(stream);
    pool.run(stream);
    CHECK(pool.device.allocated == 1);
  }
  CHECK(pool.pool.graph_workspaces() == 0);
}

TEST_CASE("A graph may outlive the pool") {
  Graph graph{.id = 1};
  StreamsDevice device;
  {
    const NotingKernel kernel;
    WorkspacePool pool(device);
    Stream stream{.id = 1, .graph = &graph};
    REQUIRE(pool.run(kernel, launch_with(4096), {}, &stream) == 0);
    CHECK(device.allocated == 1);
  }
  CHECK(device.allocated == 0);
  graph.kept.clear();
}

TEST_CASE("Without memory, what needs a workspace fails and what does not goes on without") {
  Pool pool;
  pool.device.limit_bytes = 1000;
  Graph graph{.id = 1};
  Stream eager{.id = 1}, captured{.id = 2, .graph = &graph};
  Launch launch = launch_with(4096);
  for (Stream* stream : {&eager, &captured}) {
    CHECK_THROWS_AS(pool.pool.run(pool.kernel, launch, {}, stream), DeviceError);
  }
  launch.workspace_is_optional = true;
  for (Stream* stream : {&eager, &captured}) {
    CHECK(pool.pool.run(pool.kernel, launch, {}, stream) == 0);
    CHECK(NotingKernel::last_workspace == nullptr);
    CHECK(NotingKernel::last_bytes == without_workspace(launch).workspace_bytes);
  }
  pool.device.limit_bytes = 1 << 20;
  CHECK(pool.run(eager) != nullptr);
}

}  // namespace tunedgemm::internal
