#include "runtime/front/gpus.h"

#include <dlfcn.h>

#include <chrono>
#include <thread>

namespace tunedgemm::internal {

Gpus::Gpus() {
  // A program that calls cuBLAS has loaded the driver.
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
#define TUNEDGEMM_FIND(name, ...)                                                              \
  name = reinterpret_cast<decltype(name)>(driver == nullptr ? nullptr : dlsym(driver, #name)); \
  has_driver_ = has_driver_ && name != nullptr;
  TUNEDGEMM_DRIVER_FUNCTIONS(TUNEDGEMM_FIND)
#undef TUNEDGEMM_FIND
}

const void* Gpus::current() const noexcept {
  cuda::CUcontext context = nullptr;
  return has_driver_ && cuCtxGetCurrent(&context) == cuda::CUDA_SUCCESS ? context : nullptr;
}

bool Gpus::describe_current(tunedgemm_context_options& options) const {
  cuda::CUdevice device = 0;
  cuda::CUcontext primary = nullptr;
  if (!has_driver_ || cuCtxGetDevice(&device) != cuda::CUDA_SUCCESS ||
      cuDevicePrimaryCtxRetain(&primary, device) != cuda::CUDA_SUCCESS) {
    return false;
  }
  cuDevicePrimaryCtxRelease_v2(device);
  options.backend = TUNEDGEMM_BACKEND_CUDA;
  options.ordinal = device;
  return primary == current();
}

bool Gpus::is_captured(void* stream) const noexcept {
  // The query of the default stream fails while another stream is captured in global mode.
  int status = 0;
  return !has_driver_ || cuStreamIsCapturing(stream, &status) != cuda::CUDA_SUCCESS || status != 0;
}

void Gpus::exchange_capture_mode(int& mode) const noexcept {
  if (has_driver_) {
    cuThreadExchangeStreamCaptureMode(&mode);
  }
}

Gpus::Events Gpus::begin(void* stream) {
  Events events;
  if (is_captured(stream)) {
    return events;
  }
  collect_times();
  constexpr unsigned kDefault = 0;
  if (cuEventCreate(&events.first, kDefault) != cuda::CUDA_SUCCESS ||
      cuEventCreate(&events.last, kDefault) != cuda::CUDA_SUCCESS ||
      cuEventRecord(events.first, stream) != cuda::CUDA_SUCCESS) {
    return {};
  }
  return events;
}

void Gpus::end(Events events, void* stream, FrontProduct* product, bool is_served) {
  if (events.last != nullptr && cuEventRecord(events.last, stream) == cuda::CUDA_SUCCESS) {
    events.product = product;
    events.is_served = is_served;
    const std::lock_guard<std::mutex> lock(mutex_);
    running_.push_back(events);
  }
}

std::size_t Gpus::collect_times() {
  const RelaxedCapture relaxed(*this);
  const std::lock_guard<std::mutex> lock(mutex_);
  while (!running_.empty()) {
    const Events& events = running_.front();
    const auto ready = cuEventQuery(events.last);
    if (ready == cuda::CUDA_ERROR_NOT_READY) {
      break;
    }
    float milliseconds = 0;
    if (ready == cuda::CUDA_SUCCESS && events.product != nullptr &&
        cuEventElapsedTime(&milliseconds, events.first, events.last) == cuda::CUDA_SUCCESS) {
      const auto nanoseconds = static_cast<std::int64_t>(1e6 * static_cast<double>(milliseconds));
      events.product->nanoseconds.fetch_add(nanoseconds);
      events.product->served_nanoseconds.fetch_add(events.is_served ? nanoseconds : 0);
    }
    cuEventDestroy_v2(events.first);
    cuEventDestroy_v2(events.last);
    running_.pop_front();
  }
  return running_.size();
}

// Work that hangs must not keep the process.
void Gpus::finish() {
  for (int wait = 0; wait < 1000 && collect_times() > 0; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace tunedgemm::internal
