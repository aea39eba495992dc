#pragma once

// ProcessContexts: the contexts of calls that name none, one for each device that such a call has
// met. As with the CUDA runtime, a call is for the device on which its thread works.
//
// Any number of threads may use it. There is one in a process, which is never destroyed: a thread
// may use it while the process ends.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "runtime/context/context.h"

namespace tunedgemm::internal {

class ProcessContexts {
 public:
  /// Makes a context on the backend's device of this ordinal; may throw.
  using Make = std::function<std::unique_ptr<Context>(const Backend& backend, int ordinal)>;
  ProcessContexts(const Backend& backend, Make make) : backend_(backend), make_(std::move(make)) {}
  ~ProcessContexts() = default;
  ProcessContexts(const ProcessContexts&) = delete;
  ProcessContexts& operator=(const ProcessContexts&) = delete;

  /// The context of the device on which the calling thread works. Made by the first call that needs
  /// it, under a lock; throws what `make` throws. A thread that stays on its device pays for one
  /// question to the driver.
  Context& current();

  /// As at the end of each context: ends tuning in the background, writes what is to be written.
  void settle();

 private:
  static std::uint64_t next_id();
  Context& find_or_make(int ordinal);

  /// By which threads remember it: another one may lie at the same address later.
  const std::uint64_t id_ = next_id();
  const Backend& backend_;
  Make make_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Context>> of_ordinals_;
};

}  // namespace tunedgemm::internal
