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
// workspaces. A graph shares the ownership of its workspaces, and the pool frees them some time
// after the graph, its clones and its executables are destroyed. If workspaces are many or large,
// the pool frees those of idle streams. The pool's destructor frees the rest.
//
// Several workspaces together take at most a sixteenth of the device's memory. A single workspace
// may take more. A launch gets no new workspace that would exceed this limit, or for which there is
// no memory.

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
  /// captured. If no workspace can be allocated, the kernel runs without one if the launch allows
  /// that. Otherwise nothing is launched and the result is empty. After a launch, returns 0 or the
  /// device API's error number. Blocks only to allocate a workspace or during a capture, and may
  /// then throw DeviceError.
  std::optional<int> run(const CompiledKernel& kernel, const Launch& launch, Arguments arguments,
                         StreamHandle stream);

  /// The number of StreamWorkspace objects, including those whose memory has been freed.
  std::size_t stream_workspaces() const;
  /// The number of workspaces of graphs that still exist.
  std::size_t graph_workspaces() const;

 private:
  /// Belongs to one stream at a time. Once the pool has freed the memory of an idle stream, another
  /// stream may take the object.
  struct StreamWorkspace {
    std::atomic<std::uint64_t> stream{0};
    /// The number of threads that are launching with the workspace. Negative while a thread
    /// replaces or frees the memory.
    std::atomic<int> users{0};
    std::atomic<bool> used_lately{true};
    std::unique_ptr<DeviceMemory> memory;
    StreamWorkspace* next = nullptr;

    /// False if a thread is launching with the workspace, or has already taken it.
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
  /// Takes a workspace that no thread uses and no other stream owns, so that find() no longer
  /// returns it. Null if there is none.
  StreamWorkspace* take(std::uint64_t stream);
  /// Frees the workspaces of streams that have not launched since the last run of this function.
  /// Does nothing within kIdle after that run.
  void free_idle_workspaces();
  std::optional<int> run_captured(const CompiledKernel& kernel, const Launch& launch,
                                  Arguments arguments, StreamHandle stream);
  /// An old or new workspace of the graph. Null if there is no memory for a new one.
  std::shared_ptr<GraphWorkspace> graph_workspace(const Launch& launch,
                                                  const StreamCapture& capture);
  void free_workspaces_of_destroyed_graphs();
  std::int64_t total_bytes() const;
  /// Whether an allocation of at most this size has failed so recently that this one must wait.
  bool is_refused(std::int64_t bytes) const;
  /// Allocates a workspace and zeroes its counters. Null if there is no memory, or if the limit
  /// would be exceeded. Throws DeviceError if the device is lost.
  std::unique_ptr<DeviceMemory> allocate(std::int64_t bytes);

  Device& device_;
  const std::int64_t limit_bytes_;
  mutable std::mutex mutex_;  ///< held to add, take or free workspaces
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
