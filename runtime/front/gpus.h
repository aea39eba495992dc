#pragma once

// Gpus: the devices of a program that has loaded CUDA's driver, and the times of its products.
//
// Thread-safe.

#include <cstddef>
#include <deque>
#include <mutex>

#include "runtime/cuda/driver.h"
#include "runtime/front/front.h"

namespace tunedgemm::internal {

class Gpus final : public FrontDevices {
 public:
  Gpus();

  const void* current() const noexcept override;
  /// False unless the thread's context is the primary one of its device, which is the one that this
  /// library uses.
  bool describe_current(tunedgemm_context_options& options) const override;
  bool is_captured(void* stream) const noexcept override;

  /// Times what `launch` enqueues on a stream, and returns its result. It sets `is_served`, whether
  /// the call was served. Captured work has no time.
  template <class Launch>
  auto timed(void* on, FrontProduct& product, const bool& is_served, Launch launch) {
    auto* const stream = static_cast<cuda::CUstream>(on);
    const Events events = begin(stream);
    const auto result = launch();
    end(events, stream, product, is_served);
    return result;
  }
  void finish() override;

 private:
  struct Events {
    cuda::CUevent first = nullptr, last = nullptr;
    FrontProduct* product = nullptr;
    bool is_served = false;
  };
  Events begin(cuda::CUstream stream);
  void end(Events events, cuda::CUstream stream, FrontProduct& product, bool is_served);
  /// Adds the times of finished work to the products'. Returns the number of unfinished ones.
  std::size_t collect_times();

  const cuda::Driver* driver_ = nullptr;

  std::mutex mutex_;  // guards what follows
  std::deque<Events> running_;
};

}  // namespace tunedgemm::internal
