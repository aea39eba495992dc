#pragma once

// WorkspacePool: the scratch memory of kernels, and launches with it.
//
// Launches that may run concurrently must not share a workspace. Launches on one stream are
// ordered, so each stream has one workspace, by stream id: handles are reused, and one handle may
// mean a different stream in each thread. A graph may run concurrently with anything, so it has
// workspaces of its own: a captured launch reuses a workspace of its graph if it runs after the
// workspace's last user, and else gets a new one.
//
// Thread-safe. The hot path takes no lock. The device must outlive the pool, which owns all
// workspaces. A graph's are freed after the graph and its executables are destroyed. If there are
// many streams, those of idle streams are freed. The rest is freed with the pool.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device.h"

namespace tunedgemm::internal {

class WorkspacePool {
 public:
  explicit WorkspacePool(Device& device) : device_(device) {}
  ~WorkspacePool();
  WorkspacePool(const WorkspacePool&) = delete;
  WorkspacePool& operator=(const WorkspacePool&) = delete;

  /// Launches the kernel with the workspace of the stream, or of the graph into which the stream is
  /// captured; without one if it is optional and cannot be allocated. Returns 0 or the device API's
  /// error number. Allocates, and blocks for that, only if there is no workspace yet; then it may
  /// throw DeviceError.
  int run(const CompiledKernel& kernel, const Launch& launch, Arguments arguments,
          StreamHandle stream);

  /// The number of workspaces of streams, and of graphs that still exist.
  std::size_t stream_workspaces() const;
  std::size_t graph_workspaces() const;

 private:
  /// Belongs to one stream at a time. If that is idle for long, another stream may take it.
  struct StreamWorkspace {
    std::atomic<std::uint64_t> stream{0};
    /// Threads that are launching with it. Negative: it is taken for another stream.
    std::atomic<int> users{0};
    std::atomic<bool> used_lately{true};
    std::unique_ptr<DeviceMemory> memory;
    StreamWorkspace* next = nullptr;

    /// False while a thread launches with it, or it is already taken.
    bool try_to_take();
  };
  struct GraphWorkspace {
    std::unique_ptr<DeviceMemory> memory;
    std::uint64_t capture = 0;
    const void* last_user = nullptr;  ///< a node of the capture's graph
  };
  /// While it lives, no other stream can take the workspace: between finding it and the launch.
  class Use;

  Use find(std::int64_t bytes, std::uint64_t stream) const noexcept;
  /// Empty if the workspace is optional and cannot be allocated.
  Use add(const Launch& launch, std::uint64_t stream);
  /// Takes an unused workspace for the stream, so that find() no longer returns it. Null if none is
  /// unused.
  StreamWorkspace* take(std::uint64_t stream);
  /// Frees the workspaces of streams that have not launched since the last call, unless that was
  /// recent.
  void free_idle_workspaces();
  int run_captured(const CompiledKernel& kernel, const Launch& launch, Arguments arguments,
                   StreamHandle stream);
  /// Null if the workspace is optional and cannot be allocated.
  std::shared_ptr<GraphWorkspace> graph_workspace(const Launch& launch,
                                                  const StreamCapture& capture);
  void free_workspaces_of_destroyed_graphs();
  /// Zeroes the counters. Null if the workspace is optional and cannot be allocated. Throws
  /// DeviceError.
  std::unique_ptr<DeviceMemory> allocate(const Launch& launch);

  Device& device_;
  mutable std::mutex mutex_;  ///< for adding, taking and freeing workspaces
  std::vector<std::unique_ptr<StreamWorkspace>> stream_workspaces_;
  std::chrono::steady_clock::time_point last_freed_{};
  std::atomic<StreamWorkspace*> newest_{nullptr};
  std::vector<std::shared_ptr<GraphWorkspace>> graph_workspaces_;
};

}  // namespace tunedgemm::internal
