#pragma once

// WorkspacePool: the memory that kernels use beside their matrices, one workspace for each stream,
// since the launches of one stream follow each other.
//
// Any number of threads may use it. find() takes no lock: workspaces are only ever added, in front
// of a list. get() allocates under a lock. The device must outlive the pool, which owns all memory
// that it gives away: a workspace is kept until the pool is destroyed, also when a larger one has
// taken its place, since launches may still be using it.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device.h"

namespace tunedgemm {

class WorkspacePool {
 public:
  explicit WorkspacePool(Device& device) : device_(device) {}
  ~WorkspacePool() = default;
  WorkspacePool(const WorkspacePool&) = delete;
  WorkspacePool& operator=(const WorkspacePool&) = delete;

  /// A workspace of the stream with at least so many bytes, or null. The hot path.
  void* find(std::int64_t bytes, StreamHandle stream) const noexcept {
    const Workspace* workspace = newest_.load(std::memory_order_acquire);
    while (workspace != nullptr &&
           !(workspace->stream == stream && workspace->memory->size_bytes() >= bytes)) {
      workspace = workspace->next;
    }
    return workspace == nullptr ? nullptr : workspace->memory->data();
  }

  /// A workspace of the stream with at least the launch's bytes, allocated if there is none, its
  /// counters zero. Null if it would have to be allocated while the stream is captured, or if it is
  /// optional and cannot be had. Throws DeviceError.
  void* get(const Launch& launch, StreamHandle stream);

 private:
  struct Workspace {
    StreamHandle stream = nullptr;
    std::unique_ptr<DeviceMemory> memory;
    const Workspace* next = nullptr;
  };

  Device& device_;
  std::mutex adding_;
  std::vector<std::unique_ptr<Workspace>> workspaces_;
  std::atomic<const Workspace*> newest_{nullptr};
};

}  // namespace tunedgemm
