#include "runtime/context/workspace_pool.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "kernel_templates/base/log.h"

namespace tunedgemm::internal {
namespace {

// Idle streams lose their workspaces once there are kManyStreams workspaces, once workspaces would
// take more than 1/kManyBytesOfLimit of the limit, or once an allocation fails. An idle stream may
// have been destroyed, which CUDA does not report. Freeing and allocating wait for the device, so
// kIdle is far longer than a program takes to return to a stream.
constexpr std::size_t kManyStreams = 64;
constexpr std::int64_t kManyBytesOfLimit = 2;
constexpr std::chrono::milliseconds kIdle{200};

// The limit is the device's memory divided by this number.
constexpr std::int64_t kLimitOfMemory = 16;
// The pause after a failed attempt to allocate, because each attempt costs time in the driver.
constexpr std::chrono::milliseconds kRetryPause{100};

std::int64_t limit_of(std::int64_t memory_bytes) {
  return memory_bytes > 0 ? memory_bytes / kLimitOfMemory
                          : std::numeric_limits<std::int64_t>::max();  // unknown
}

constexpr std::uint64_t kNoStream = std::numeric_limits<std::uint64_t>::max();

// Added to StreamWorkspace::users while a thread replaces or frees the workspace.
constexpr int kTaken = std::numeric_limits<int>::min() / 2;

}  // namespace

class WorkspacePool::Use {
 public:
  Use() = default;
  /// Precondition: the caller has already incremented workspace.users.
  explicit Use(StreamWorkspace& workspace) : workspace_(&workspace) {}
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  Use(Use&& other) noexcept : workspace_(std::exchange(other.workspace_, nullptr)) {}
  Use& operator=(Use&& other) noexcept {
    std::swap(workspace_, other.workspace_);
    return *this;
  }
  ~Use() {
    if (workspace_ != nullptr) {
      workspace_->users.fetch_sub(1, std::memory_order_release);
    }
  }

  explicit operator bool() const { return workspace_ != nullptr; }
  void* data() const { return workspace_->memory->data(); }

 private:
  StreamWorkspace* workspace_ = nullptr;
};

WorkspacePool::WorkspacePool(Device& device)
    : device_(device), limit_bytes_(limit_of(device.identity().memory_bytes)) {}

WorkspacePool::~WorkspacePool() {
  // A graph that outlives the pool keeps its GraphWorkspace, but not the device memory.
  for (const auto& workspace : graph_workspaces_) {
    workspace->memory.reset();
  }
}

std::optional<int> WorkspacePool::run(const CompiledKernel& kernel, const Launch& launch,
                                      Arguments arguments, StreamHandle stream) {
  const std::optional<std::uint64_t> id = device_.stream_id(stream);
  if (!id) [[unlikely]] {
    return run_captured(kernel, launch, arguments, stream);
  }
  Use use = find(launch.workspace_bytes, *id);
  if (!use) [[unlikely]] {
    use = add(launch, *id);
    if (!use) {
      return launch.workspace_is_optional
                 ? std::optional(kernel.run(without_workspace(launch), arguments, stream))
                 : std::nullopt;
    }
  }
  arguments.workspace = use.data();
  return kernel.run(launch, arguments, stream);
}

WorkspacePool::Use WorkspacePool::find(std::int64_t bytes, std::uint64_t stream) const noexcept {
  for (StreamWorkspace* workspace = newest_.load(std::memory_order_acquire); workspace != nullptr;
       workspace = workspace->next) {
    if (workspace->stream.load(std::memory_order_relaxed) != stream) {
      continue;
    }
    const bool taken = workspace->users.fetch_add(1, std::memory_order_acquire) < 0;
    Use use(*workspace);
    // Another thread may have taken or freed the workspace before fetch_add.
    if (!taken && workspace->stream.load(std::memory_order_relaxed) == stream &&
        workspace->memory->size_bytes() >= bytes) {
      if (!workspace->used_lately.load(std::memory_order_relaxed)) {
        workspace->used_lately.store(true, std::memory_order_relaxed);
      }
      return use;
    }
  }
  return {};
}

WorkspacePool::Use WorkspacePool::add(const Launch& launch, std::uint64_t stream) {
  const std::scoped_lock lock(mutex_);
  if (Use kept = find(launch.workspace_bytes, stream)) {
    return kept;
  }
  free_workspaces_of_destroyed_graphs();
  if (is_refused(launch.workspace_bytes)) {
    return {};
  }
  StreamWorkspace* workspace = take(stream);
  if (workspace == nullptr) {
    stream_workspaces_.push_back(std::make_unique<StreamWorkspace>());
    workspace = stream_workspaces_.back().get();
    workspace->users = kTaken;
    workspace->next = newest_.load(std::memory_order_relaxed);
    newest_.store(workspace, std::memory_order_release);
  }
  // This is safe, because freeing device memory waits for the launches that use it.
  workspace->stream = kNoStream;
  workspace->memory.reset();
  const auto give_back = [&](int users) {
    workspace->used_lately = true;
    workspace->users.fetch_add(users - kTaken, std::memory_order_release);
  };
  try {
    workspace->memory = allocate(launch.workspace_bytes);
  } catch (const std::exception&) {
    give_back(0);
    throw;
  }
  if (workspace->memory == nullptr) {
    give_back(0);
    return {};
  }
  workspace->stream = stream;
  give_back(1);
  return Use(*workspace);
}

bool WorkspacePool::StreamWorkspace::try_to_take() {
  int no_users = 0;
  return users.compare_exchange_strong(no_users, kTaken, std::memory_order_acquire);
}

WorkspacePool::StreamWorkspace* WorkspacePool::take(std::uint64_t stream) {
  if (stream_workspaces_.size() >= kManyStreams) {
    free_idle_workspaces();
  }
  for (const auto& workspace : stream_workspaces_) {
    const std::uint64_t owner = workspace->stream.load(std::memory_order_relaxed);
    if ((owner == stream || owner == kNoStream) && workspace->try_to_take()) {
      return workspace.get();
    }
  }
  return nullptr;
}

void WorkspacePool::free_idle_workspaces() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_freed_ < kIdle) {
    return;
  }
  last_freed_ = now;
  for (const auto& workspace : stream_workspaces_) {
    const bool used_lately = workspace->used_lately.exchange(false, std::memory_order_relaxed);
    if (!used_lately && workspace->try_to_take()) {
      workspace->stream = kNoStream;
      workspace->memory.reset();
      workspace->users.fetch_sub(kTaken, std::memory_order_release);
    }
  }
}

std::optional<int> WorkspacePool::run_captured(const CompiledKernel& kernel, const Launch& launch,
                                               Arguments arguments, StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  const Device::Current current(device_);
  const std::unique_ptr<StreamCapture> before = device_.capture_of(stream);
  if (before == nullptr) {
    throw DeviceError(DeviceError::Kind::kFailed,
                      "the capture of the stream has ended or is invalid; begin a new one");
  }
  const std::shared_ptr<GraphWorkspace> workspace = graph_workspace(launch, *before);
  if (workspace == nullptr) {
    return launch.workspace_is_optional
               ? std::optional(kernel.run(without_workspace(launch), arguments, stream))
               : std::nullopt;
  }
  arguments.workspace = workspace->memory->data();
  const int error = kernel.run(launch, arguments, stream);
  if (error == 0) {
    const std::unique_ptr<StreamCapture> after = device_.capture_of(stream);
    workspace->last_user = after == nullptr ? nullptr : after->last_node();
  }
  return error;
}

std::shared_ptr<WorkspacePool::GraphWorkspace> WorkspacePool::graph_workspace(
    const Launch& launch, const StreamCapture& capture) {
  std::vector<const void*> last_users;
  for (const auto& workspace : graph_workspaces_) {
    if (workspace->capture == capture.id() && workspace->last_user != nullptr &&
        workspace->memory->size_bytes() >= launch.workspace_bytes) {
      last_users.push_back(workspace->last_user);
    }
  }
  if (const void* nearest = capture.nearest_before(last_users)) {
    return *std::find_if(
        graph_workspaces_.begin(), graph_workspaces_.end(), [&](const auto& workspace) {
          return workspace->capture == capture.id() && workspace->last_user == nearest &&
                 workspace->memory->size_bytes() >= launch.workspace_bytes;
        });
  }
  free_workspaces_of_destroyed_graphs();
  if (is_refused(launch.workspace_bytes)) {
    return nullptr;
  }
  auto workspace = std::make_shared<GraphWorkspace>();
  workspace->capture = capture.id();
  workspace->memory = allocate(launch.workspace_bytes);
  if (workspace->memory == nullptr) {
    return nullptr;
  }
  // The pool must own the workspace before keep(). If keep() fails, a callback of the driver may
  // drop the other reference, and callbacks must not free device memory.
  graph_workspaces_.push_back(workspace);
  capture.keep(workspace);
  return workspace;
}

std::int64_t WorkspacePool::total_bytes() const {
  std::int64_t total = 0;
  for (const auto& workspace : stream_workspaces_) {
    total += workspace->memory == nullptr ? 0 : workspace->memory->size_bytes();
  }
  for (const auto& workspace : graph_workspaces_) {
    total += workspace->memory->size_bytes();
  }
  return total;
}

bool WorkspacePool::is_refused(std::int64_t bytes) const {
  return bytes >= refused_bytes_ && std::chrono::steady_clock::now() < retry_at_;
}

std::unique_ptr<DeviceMemory> WorkspacePool::allocate(std::int64_t bytes) {
  if (total_bytes() + bytes > limit_bytes_ / kManyBytesOfLimit) {
    free_idle_workspaces();
  }
  const std::int64_t total = total_bytes();
  std::string why_not;
  if (total > 0 && total + bytes > limit_bytes_) {
    why_not = "workspaces have " + std::to_string(total) + " bytes, and the limit is " +
              std::to_string(limit_bytes_) + ", a sixteenth of the device's memory";
  } else {
    try {
      const Device::Current current(device_);
      auto memory = device_.allocate(bytes);
      device_.set_bytes(memory->data(), 0, std::min(bytes, kWorkspaceCounterBytes));
      return memory;
    } catch (const DeviceError& error) {
      if (error.kind() == DeviceError::Kind::kLost) {
        throw;
      }
      free_idle_workspaces();
      why_not = error.what();
    }
  }
  refused_bytes_ = bytes;
  retry_at_ = std::chrono::steady_clock::now() + kRetryPause;
  if (!std::exchange(has_warned_, true)) {
    log_warning("launches do without a workspace of " + std::to_string(bytes) +
                " bytes: " + why_not);
  }
  return nullptr;
}

void WorkspacePool::free_workspaces_of_destroyed_graphs() {
  std::erase_if(graph_workspaces_,
                [](const auto& workspace) { return workspace.use_count() == 1; });
}

std::size_t WorkspacePool::stream_workspaces() const {
  const std::scoped_lock lock(mutex_);
  return stream_workspaces_.size();
}

std::size_t WorkspacePool::graph_workspaces() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(graph_workspaces_.begin(), graph_workspaces_.end(),
                    [](const auto& workspace) { return workspace.use_count() > 1; }));
}

}  // namespace tunedgemm::internal
