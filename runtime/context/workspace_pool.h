#pragma once

// WorkspacePool: the scratch memory of kernels, and launches with it.
//
// Launches that may run concurrently must not share a workspace. Launches on one stream are
// ordered, so each stream has one workspace, by stream id: handles are reused, and one handle may
// mean a different stream in each thread. A graph may run concurrently with anything, so it has
// workspaces of its own: a captured launch reuses a workspace of its graph if it runs after the
// workspace's last user, and else gets a new one.
//
// Thread-safe. The hot path takes no lock. The device must outlive the pool. The pool owns all
// workspaces; the graph shares the ownership of its own, and the pool frees them once the graph and
// its executables are destroyed. If workspaces are many or large, those of idle streams are freed.
// The rest is freed with the pool.
//
// All workspaces together take at most a sixteenth of the device's memory; a single one may be
// larger. A launch that would exceed this, or finds no memory, has to do without.

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
  explicit WorkspacePool(Device& device);
  ~WorkspacePool();
  WorkspacePool(const WorkspacePool&) = delete;
  WorkspacePool& operator=(const WorkspacePool&) = delete;

  /// Launches the kernel with the workspace of the stream, or of the graph into which the stream is
  /// captured; without one if it is optional and cannot be had. Returns 0 or the device API's error
  /// number; empty, and nothing is launched, if the launch needs a workspace that cannot be had.
  /// Allocates, and blocks for that, only if there is no workspace yet; then it may throw
  /// DeviceError.
  std::optional<int> run(const CompiledKernel& kernel, const Launch& launch, Arguments arguments,
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
  /// Empty if the workspace cannot be had.
  Use add(const Launch& launch, std::uint64_t stream);
  /// Takes an unused workspace for the stream, so that find() no longer returns it. Null if none is
  /// unused.
  StreamWorkspace* take(std::uint64_t stream);
  /// Frees the workspaces of streams that have not launched since the last call, unless that was
  /// recent.
  void free_idle_workspaces();
  std::optional<int> run_captured(const CompiledKernel& kernel, const Launch& launch,
                                  Arguments arguments, StreamHandle stream);
  /// Null if the workspace cannot be had.
  std::shared_ptr<GraphWorkspace> graph_workspace(const Launch& launch,
                                                  const StreamCapture& capture);
  void free_workspaces_of_destroyed_graphs();
  std::int64_t total_bytes() const;
  /// Whether an allocation of this size has failed so recently that another attempt must wait.
  bool is_refused(std::int64_t bytes) const;
  /// Zeroes the counters. Null if there is no memory, or the limit would be exceeded. Throws
  /// DeviceError if the device is lost.
  std::unique_ptr<DeviceMemory> allocate(std::int64_t bytes);

  Device& device_;
  const std::int64_t limit_bytes_;
  mutable std::mutex mutex_;  ///< for adding, taking and freeing workspaces
  std::vector<std::unique_ptr<StreamWorkspace>> stream_workspaces_;
  std::chrono::steady_clock::time_point last_freed_{};
  /// So many bytes were refused lately; until the time there is no second attempt.
  std::int64_t refused_bytes_ = 0;
  std::chrono::steady_clock::time_point retry_at_{};
  bool has_warned_ = false;
  std::atomic<StreamWorkspace*> newest_{nullptr};
  std::vector<std::shared_ptr<GraphWorkspace>> graph_workspaces_;
};

}  // namespace tunedgemm::internal
