#include "runtime/workspace_pool.h"

#include <algorithm>
#include <utility>

namespace tunedgemm {

void* WorkspacePool::get(const Launch& launch, StreamHandle stream) {
  const std::int64_t bytes = launch.workspace_bytes;
  const std::scoped_lock lock(adding_);
  if (void* kept = find(bytes, stream)) {
    return kept;
  }
  const Device::Current current(device_);
  if (device_.is_capturing(stream)) {
    return nullptr;
  }
  auto workspace = std::make_unique<Workspace>();
  workspace->stream = stream;
  try {
    workspace->memory = device_.allocate(bytes);
  } catch (const DeviceError&) {
    if (launch.workspace_is_optional) {
      return nullptr;
    }
    throw;
  }
  void* data = workspace->memory->data();
  device_.set_bytes(data, 0, std::min(bytes, kWorkspaceCounterBytes));
  workspace->next = newest_.load(std::memory_order_relaxed);
  workspaces_.push_back(std::move(workspace));
  newest_.store(workspaces_.back().get(), std::memory_order_release);
  return data;
}

}  // namespace tunedgemm
