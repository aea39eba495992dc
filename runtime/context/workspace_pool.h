#pragma once

// WorkspacePool: the workspaces (scratch memory) of kernels, and the launches that use them.
//
// Launches that may run concurrently must not share a workspace. Launches on one stream are
// ordered, so each stream has one workspace. The key is the stream id, because handles are reused,
// and one handle may mean a different stream in each thread. A graph may run concurrently with
// anything, so it has its own workspaces. A captured launch reuses a workspace of its graph if the
// launch depends on the workspace's last user; otherwise it gets a new workspace.
//
// Thread-safe. The hot path takes no lock. The device must outlive the pool. The pool owns all
// workspaces. A graph shares the ownership of its workspaces, and the pool frees them once the
// graph and its executables are destroyed. If workspaces are many or large, the pool frees those of
// idle streams. The pool's destructor frees the rest.
//
// All workspaces together take at most a sixteenth of the device's memory, but a single workspace
// may take more. A launch gets no workspace if it would exceed this limit, or if there is no
// memory.

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
  /// captured. If no workspace can be allocated, but it is optional, launches without one. If it is
  /// needed, launches nothing and returns empty. Otherwise returns 0 or the device API's error
  /// number. Blocks only to allocate a workspace, and may then throw DeviceError.
  std::optional<int> run(const CompiledKernel& kernel, const Launch& launch, Arguments arguments,
                         StreamHandle stream);

  /// The number of workspaces that belong to streams, and to graphs that still exist.
  std::size_t stream_workspaces() const;
  std::size_t graph_workspaces() const;

 private:
  /// Belongs to one stream at a time. If the stream is idle for long, another stream may take the
  /// workspace.
  struct StreamWorkspace {
    std::atomic<std::uint64_t> stream{0};
    /// The number of threads that are launching with it. Negative while a thread replaces or frees
    /// it.
    std::atomic<int> users{0};
    std::atomic<bool> used_lately{true};
    std::unique_ptr<DeviceMemory> memory;
    StreamWorkspace* next = nullptr;

    /// False if a thread is launching with it, or if it is already taken.
    bool try_to_take();
  };
  struct GraphWorkspace {
    std::unique_ptr<DeviceMemory> memory;
    std::uint64_t capture = 0;
    const void* last_user = nullptr;  ///< a node of the capture's graph
  };
  /// A guard from find() to the launch: while it lives, no other stream can take the workspace.
  class Use;

  Use find(std::int64_t bytes, std::uint64_t stream) const noexcept;
  /// Allocates the stream's workspace. Empty if there is no memory for it.
  Use add(const Launch& launch, std::uint64_t stream);
  /// Takes an unused workspace for the stream, so that find() no longer returns it. Null if there
  /// is none.
  StreamWorkspace* take(std::uint64_t stream);
  /// Frees the workspaces of streams that have not launched since the last call of this function.
  /// Does nothing if that call was less than kIdle ago.
  void free_idle_workspaces();
  std::optional<int> run_captured(const CompiledKernel& kernel, const Launch& launch,
                                  Arguments arguments, StreamHandle stream);
  /// Null if there is no memory for the workspace.
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
  /// The size of the last allocation that failed. Until retry_at_ no allocation of this size or
  /// larger is tried.
  std::int64_t refused_bytes_ = 0;
  std::chrono::steady_clock::time_point retry_at_{};
  bool has_warned_ = false;
  std::atomic<StreamWorkspace*> newest_{nullptr};
  std::vector<std::shared_ptr<GraphWorkspace>> graph_workspaces_;
};

}  // namespace tunedgemm::internal
