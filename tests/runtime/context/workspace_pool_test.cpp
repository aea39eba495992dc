// The workspaces of launches on streams, on a device whose streams are numbers. For graphs see
// fake_cuda/workspaces_test.cpp.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "runtime/context/workspace_pool.h"
#include "tests/runtime/support/plain_device.h"
#include "tests/support/catch.h"
#include "tests/support/comes_true.h"
#include "tests/support/seed.h"
#include "tests/support/skip.h"

namespace tunedgemm::internal {
namespace {

struct Stream {
  std::uint64_t id = 0;
};

class StreamsDevice final : public PlainDevice {
 public:
  explicit StreamsDevice(std::int64_t memory_bytes = 0)
      : PlainDevice(make_problem(1, 1, 1, DataType::kF32, DataType::kF32, DataType::kF32),
                    Flaw::kNone),
        identity_(PlainDevice::identity()) {
    identity_.memory_bytes = memory_bytes;
  }

  const DeviceIdentity& identity() const override { return identity_; }

  std::optional<std::uint64_t> stream_id(StreamHandle handle) const noexcept override {
    return static_cast<const Stream*>(handle)->id;
  }
  std::unique_ptr<DeviceMemory> allocate(std::int64_t bytes) override {
    if (bytes > limit_bytes) {
      throw DeviceError(DeviceError::Kind::kOutOfMemory, "no such memory");
    }
    ++allocations;
    return std::make_unique<Counted>(PlainDevice::allocate(bytes), allocated);
  }

  std::int64_t limit_bytes = 1 << 20;
  std::atomic<int> allocated{0};    // currently
  std::atomic<int> allocations{0};  // in total

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

  DeviceIdentity identity_;
};

// Records its workspace, and counts launches that share one at the same time.
class RecordingKernel final : public CompiledKernel {
 public:
  int run(const Launch& launch, const Arguments& arguments, StreamHandle) const noexcept override {
    last_workspace = arguments.workspace;
    last_bytes = launch.workspace_bytes;
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
thread_local void* RecordingKernel::last_workspace = nullptr;
thread_local std::int64_t RecordingKernel::last_bytes = 0;

Launch launch_with(std::int64_t bytes) {
  Launch launch;
  launch.workspace_bytes = bytes;
  return launch;
}

struct Pool {
  void* run(Stream& stream, std::int64_t bytes = 4096) {
    REQUIRE(pool.run(kernel, launch_with(bytes), {}, &stream) == 0);
    return RecordingKernel::last_workspace;
  }

  StreamsDevice device;
  RecordingKernel kernel;
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

  // This is another stream with the same handle: the first stream was destroyed, or another thread
  // uses the handle.
  first.id = 9;
  CHECK(pool.run(first) != of_first);
  first.id = 7;
  CHECK(pool.run(first) == of_first);
}

TEST_CASE("A larger workspace replaces the stream's smaller one") {
  Pool pool;
  Stream stream{.id = 1};
  pool.run(stream, 4096);
  pool.run(stream, 8192);
  CHECK(pool.device.allocated == 1);
  pool.run(stream, 4096);
  CHECK(pool.device.allocated == 1);
}

TEST_CASE("Short-lived streams leave few workspaces behind") {
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
  CHECK(pool.pool.stream_workspaces() <= 1100);  // two bursts
  for (int last = 0; last < 3; ++last) {
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    pool.run(lasting);
    Stream stream{.id = id++};
    pool.run(stream);
  }
  CHECK(pool.device.allocated <= 4);
  CHECK(pool.run(lasting) == kept);
}

TEST_CASE("Many active streams keep their workspaces") {
  using std::chrono::steady_clock;
  // A stream counts as idle after 200 ms, which a busy machine may need for one cycle. Such an
  // attempt proves nothing.
  for (int attempt = 0; attempt < 20; ++attempt) {
    Pool pool;
    steady_clock::duration longest_cycle{};
    for (int cycle = 0; cycle < 20; ++cycle) {
      const auto begin = steady_clock::now();
      for (std::uint64_t id = 1; id <= 200; ++id) {
        Stream stream{.id = id};
        pool.run(stream);
      }
      longest_cycle = std::max(longest_cycle, steady_clock::now() - begin);
    }
    if (longest_cycle < std::chrono::milliseconds(90)) {  // so no stream waited for 200 ms
      CHECK(pool.device.allocations == 200);
      return;
    }
  }
  TUNEDGEMM_SKIP("the machine is too busy");
}

TEST_CASE("Threads with more streams than there are workspaces never share one") {
  Pool pool;
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&pool, thread] {
      std::mt19937 random(test_seed() + thread);
      for (int call = 0; call < 3000; ++call) {
        // Each thread has its own streams, because launches of a stream are ordered.
        Stream stream{.id = thread * 1000 + random() % 40};
        pool.pool.run(pool.kernel, launch_with(random() % 8 == 0 ? 8192 : 4096), {}, &stream);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(pool.kernel.clashes == 0);
  // A stream may have two workspaces: if it needs a larger workspace, a new one is allocated, while
  // a concurrent look-up may still hold the old one.
  CHECK(pool.pool.stream_workspaces() <= 2 * 8 * 40);
}

TEST_CASE("Without memory, a launch does without its workspace") {
  Pool pool;
  pool.device.limit_bytes = 1000;
  Stream stream{.id = 1};
  Launch launch = launch_with(4096);
  CHECK_FALSE(pool.pool.run(pool.kernel, launch, {}, &stream));
  launch.workspace_is_optional = true;
  CHECK(pool.pool.run(pool.kernel, launch, {}, &stream) == 0);
  CHECK(RecordingKernel::last_workspace == nullptr);
  CHECK(RecordingKernel::last_bytes == without_workspace(launch).workspace_bytes);
  pool.device.limit_bytes = 1 << 20;
  CHECK(
      comes_true([&] { return pool.pool.run(pool.kernel, launch_with(4096), {}, &stream) == 0; }));
  CHECK(RecordingKernel::last_workspace != nullptr);
}

TEST_CASE("A refused workspace is not asked for again at once, and a smaller one is") {
  Pool pool;
  pool.device.limit_bytes = 5000;
  Stream stream{.id = 1};
  CHECK_FALSE(pool.pool.run(pool.kernel, launch_with(8192), {}, &stream));
  pool.device.limit_bytes = 10000;
  CHECK_FALSE(pool.pool.run(pool.kernel, launch_with(8192), {}, &stream));
  CHECK(pool.pool.run(pool.kernel, launch_with(4096), {}, &stream) == 0);
}

TEST_CASE("All workspaces together take at most a sixteenth of the memory, or there is one") {
  constexpr std::int64_t kLimit = 64 << 10;
  StreamsDevice device(16 * kLimit);
  const RecordingKernel kernel;
  WorkspacePool pool(device);
  const auto runs = [&](std::uint64_t id, std::int64_t bytes) {
    Stream stream{.id = id};
    return pool.run(kernel, launch_with(bytes), {}, &stream).has_value();
  };
  CHECK(runs(1, kLimit / 2));
  CHECK(runs(2, kLimit / 2));
  CHECK_FALSE(runs(3, 4096));
  CHECK(runs(1, kLimit / 2));
  // Streams that no longer launch lose their workspaces.
  CHECK(comes_true([&] { return runs(3, 4096); }));
  CHECK(device.allocated < 3);

  StreamsDevice another(16 * kLimit);
  WorkspacePool large(another);
  Stream stream{.id = 1};
  CHECK(large.run(kernel, launch_with(2 * kLimit), {}, &stream) == 0);
}

}  // namespace tunedgemm::internal
