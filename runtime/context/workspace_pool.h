#pragma once

// WorkspacePool: the memory that kernels use beside their matrices, and launches with it.
//
// Launches that may run at the same time must not share a workspace. Those of one stream follow
// each other, so each stream has one, by its id: handles are used again, and one handle may mean
// another stream in every thread. A graph may be launched beside anything, so it has workspaces of
// its own: a captured launch takes one of its graph whose last user it runs behind, else a new one.
//
// Any number of threads may use it. The hot path takes no lock. The device must outlive the pool,
// which owns all of the memory. That of a graph is freed after the graph and its executables are
// destroyed, that of a stream, where there are many, after it has not been used for long, and the
// rest with the pool.

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

  /// Launches the kernel with a workspace that is the stream's own, or the graph's into which the
  /// stream is captured; one that is optional and cannot be had is done without. Returns 0 or the
  /// device's error number. Allocates, and blocks for it, only where there is no workspace yet;
  /// then it may throw DeviceError.
  int run(const CompiledKernel& kernel, const Launch& launch, Arguments arguments,
          StreamHandle stream);

  /// How many workspaces there are, of streams and of graphs that still exist.
  std::size_t stream_workspaces() const;
  std::size_t graph_workspaces() const;

 private:
  /// Of one stream at a time: when that has not launched for long, another stream gets it.
  struct StreamWorkspace {
    std::atomic<std::uint64_t> stream{0};
    /// Threads that are launching with it. Negative: it is being given to another stream.
    std::atomic<int> users{0};
    std::atomic<bool> used_lately{true};
    std::unique_ptr<DeviceMemory> memory;
    StreamWorkspace* next = nullptr;

    /// False while somebody launches with it, or it is taken already.
    bool try_to_take();
  };
  struct GraphWorkspace {
    std::unique_ptr<DeviceMemory> memory;
    std::uint64_t capture = 0;
    const void* last_user = nullptr;  ///< a node of the capture's graph
  };
  /// Keeps a stream's workspace from being given to another stream, between finding it and
  /// launching.
  class Use;

  Use find(std::int64_t bytes, std::uint64_t stream) const noexcept;
  /// Empty if the workspace is optional and cannot be had.
  Use add(const Launch& launch, std::uint64_t stream);
  /// One to be given to the stream, which nobody uses and nobody finds now; or null.
  StreamWorkspace* take(std::uint64_t stream);
  /// Frees those of streams that have not launched since the last time, if that was long ago.
  void free_unused_ones();
  int run_captured(const CompiledKernel& kernel, const Launch& launch, Arguments arguments,
                   StreamHandle stream);
  /// Null if it is optional and cannot be had.
  std::shared_ptr<GraphWorkspace> graph_workspace(const Launch& launch,
                                                  const StreamCapture& capture);
  void free_those_of_destroyed_graphs();
  /// With its counters zero; null if it is optional and cannot be had. Throws DeviceError.
  std::unique_ptr<DeviceMemory> allocate(const Launch& launch);

  Device& device_;
  mutable std::mutex mutex_;  ///< of all that changes which workspaces there are
  std::vector<std::unique_ptr<StreamWorkspace>> of_streams_;
  std::chrono::steady_clock::time_point last_freed_{};
  std::atomic<StreamWorkspace*> newest_{nullptr};
  std::vector<std::shared_ptr<GraphWorkspace>> of_graphs_;
};

}  // namespace tunedgemm::internal
