#pragma once

// ProcessContexts: the contexts for calls that pass no context, one context per device. As in the
// CUDA runtime, such a call uses the current device of its thread.
//
// Thread-safe. A process has one ProcessContexts. It is never destroyed, because threads may use it
// during exit.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "kernel_templates/base/environment.h"
#include "runtime/context/context.h"
#include "runtime/context/watch.h"

namespace tunedgemm::internal {

class ProcessContexts {
 public:
  /// Creates a context on the backend's device of this ordinal; may throw.
  using Make = std::function<std::unique_ptr<Context>(const Backend& backend, int ordinal)>;
  /// `backend` is called only once, by the first call of current(), because looking for a GPU
  /// starts CUDA.
  ProcessContexts(std::function<const Backend&()> backend, Make make)
      : find_backend_(std::move(backend)), make_(std::move(make)) {}
  ~ProcessContexts() = default;
  ProcessContexts(const ProcessContexts&) = delete;
  ProcessContexts& operator=(const ProcessContexts&) = delete;

  /// The context of the calling thread's current device. The first call for a device creates the
  /// context, under a lock; exceptions of `make` pass through. While a thread stays on its device,
  /// a call costs one query of the driver.
  Context& current();

  /// Notes a context that the program created. shut_down() includes the context until forget().
  void note(Context& context);
  void forget(Context& context) noexcept;

  /// Shuts down every context without destroying it. Ends its threads, writes its pending data, and
  /// logs the summary of all contexts, also of those that are forgotten. Called when the process
  /// exits, because the threads must not outlive static objects.
  void shut_down();

 private:
  static std::uint64_t next_id();
  const Backend& backend();
  Context& find_or_make(int ordinal);
  /// Precondition: mutex_ is locked.
  std::set<Context*> all() const;

  /// If $TUNEDGEMM_TOP names a folder, a thread writes the calls of each problem to a file in it
  /// once a second, for `tunedgemm top`. Shutting down deletes the file.
  void start_top();
  bool write_top();
  std::filesystem::path top_file() const;

  /// Identifies this object in the context that each thread caches. The object's address is not
  /// enough, because it could be reused.
  const std::uint64_t id_ = next_id();
  std::function<const Backend&()> find_backend_;
  std::once_flag backend_is_found_;
  const Backend* backend_ = nullptr;
  Make make_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Context>> by_ordinal_;
  std::set<Context*> of_program_;
  CallSummary of_forgotten_;
  const std::filesystem::path top_folder_ = environment("TUNEDGEMM_TOP");
  Watch top_{[this] { return write_top(); }};
};

}  // namespace tunedgemm::internal
