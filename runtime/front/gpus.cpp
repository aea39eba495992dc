#include "runtime/front/gpus.h"

#include <chrono>
#include <thread>

namespace tunedgemm::internal {

namespace {

// During its lifetime, what this thread does breaks no capture of another thread.
class RelaxedCapture {
 public:
  [[nodiscard]] explicit RelaxedCapture(const cuda::Driver& driver) : driver_(driver) {
    driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  ~RelaxedCapture() { driver_.cuThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const cuda::Driver& driver_;
  cuda::CUstreamCaptureMode mode_ = cuda::CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace

Gpus::Gpus() {
  const auto loaded = cuda::Driver::load();
  driver_ = std::holds_alternative<const cuda::Driver*>(loaded) ? std::get<0>(loaded) : nullptr;
}

const void* Gpus::current() const noexcept {
  cuda::CUcontext context = nullptr;
  return driver_ != nullptr && driver_->cuCtxGetCurrent(&context) == cuda::CUDA_SUCCESS ? context
                                                                                        : nullptr;
}

bool Gpus::describe_current(tunedgemm_context_options& options) const {
  cuda::CUdevice device = 0;
  cuda::CUcontext primary = nullptr;
  if (driver_ == nullptr || driver_->cuCtxGetDevice(&device) != cuda::CUDA_SUCCESS ||
      driver_->cuDevicePrimaryCtxRetain(&primary, device) != cuda::CUDA_SUCCESS) {
    return false;
  }
  driver_->cuDevicePrimaryCtxRelease(device);
  options.backend = TUNEDGEMM_BACKEND_CUDA;
  options.ordinal = device;
  return primary == current();
}

bool Gpus::is_captured(void* stream) const noexcept {
  // The query of the default stream fails while another stream is captured in global mode.
  cuda::CUstreamCaptureStatus status{};
  return driver_ == nullptr ||
         driver_->cuStreamIsCapturing(static_cast<cuda::CUstream>(stream), &status) !=
             cuda::CUDA_SUCCESS ||
         status != cuda::CU_STREAM_CAPTURE_STATUS_NONE;
}

Gpus::Events Gpus::begin(cuda::CUstream stream) {
  Events events;
  if (is_captured(stream)) {
    return events;
  }
  collect_times();
  constexpr unsigned kDefault = 0;
  if (driver_->cuEventCreate(&events.first, kDefault) != cuda::CUDA_SUCCESS ||
      driver_->cuEventCreate(&events.last, kDefault) != cuda::CUDA_SUCCESS ||
      driver_->cuEventRecord(events.first, stream) != cuda::CUDA_SUCCESS) {
    return {};
  }
  return events;
}

void Gpus::end(Events events, cuda::CUstream stream, FrontProduct& product, bool is_served) {
  if (events.last != nullptr && driver_->cuEventRecord(events.last, stream) == cuda::CUDA_SUCCESS) {
    events.product = &product;
    events.is_served = is_served;
    const std::lock_guard<std::mutex> lock(mutex_);
    running_.push_back(events);
  }
}

std::size_t Gpus::collect_times() {
  if (driver_ == nullptr) {
    return 0;
  }
  const RelaxedCapture relaxed(*driver_);
  const std::lock_guard<std::mutex> lock(mutex_);
  while (!running_.empty()) {
    const Events& events = running_.front();
    const auto ready = driver_->cuEventQuery(events.last);
    if (ready == cuda::CUDA_ERROR_NOT_READY) {
      break;
    }
    float milliseconds = 0;
    if (ready == cuda::CUDA_SUCCESS &&
        driver_->cuEventElapsedTime(&milliseconds, events.first, events.last) ==
            cuda::CUDA_SUCCESS) {
      const auto nanoseconds = static_cast<std::int64_t>(1e6 * static_cast<double>(milliseconds));
      events.product->nanoseconds.fetch_add(nanoseconds);
      events.product->served_nanoseconds.fetch_add(events.is_served ? nanoseconds : 0);
    }
    driver_->cuEventDestroy(events.first);
    driver_->cuEventDestroy(events.last);
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
