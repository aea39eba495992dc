#pragma once

// Gpus: the devices of a program that has loaded CUDA's driver, and the times of its products.
//
// Thread-safe.

#include <cstddef>
#include <deque>
#include <mutex>
#include <type_traits>

#include "runtime/cuda/driver_types.h"
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
  void exchange_capture_mode(int& mode) const noexcept override;

  /// Times what `launch` enqueues on the stream, and returns its result. `product` tells whose time
  /// it was, or null, and whether it was served. Captured work has no time.
  template <class Launch>
  auto timed(void* stream, FrontProduct*& product, const bool& is_served, Launch launch) {
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
  Events begin(void* stream);
  void end(Events events, void* stream, FrontProduct* product, bool is_served);
  /// Adds the times of finished work to the products'. Returns the number of unfinished ones.
  std::size_t collect_times();

  // NOLINTBEGIN(readability-identifier-naming): the manual's names
#define TUNEDGEMM_DRIVER_FUNCTIONS(X)                                   \
  X(cuCtxGetCurrent, cuda::CUcontext* context)                          \
  X(cuCtxGetDevice, cuda::CUdevice* device)                             \
  X(cuDevicePrimaryCtxRetain, cuda::CUcontext* context, cuda::CUdevice) \
  X(cuDevicePrimaryCtxRelease_v2, cuda::CUdevice)                       \
  X(cuStreamIsCapturing, void* stream, int* status)                     \
  X(cuThreadExchangeStreamCaptureMode, int* mode)                       \
  X(cuEventCreate, cuda::CUevent* event, unsigned flags)                \
  X(cuEventDestroy_v2, cuda::CUevent)                                   \
  X(cuEventRecord, cuda::CUevent, void* stream)                         \
  X(cuEventQuery, cuda::CUevent)                                        \
  X(cuEventElapsedTime, float* milliseconds, cuda::CUevent, cuda::CUevent)
#define TUNEDGEMM_DECLARE(name, ...) cuda::CUresult (*name)(__VA_ARGS__) = nullptr;
  TUNEDGEMM_DRIVER_FUNCTIONS(TUNEDGEMM_DECLARE)
#undef TUNEDGEMM_DECLARE
  // NOLINTEND(readability-identifier-naming)
  bool has_driver_ = true;

  std::mutex mutex_;  // guards what follows
  std::deque<Events> running_;
};

}  // namespace tunedgemm::internal
