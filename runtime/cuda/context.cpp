#include "runtime/cuda/context.h"

#include <string>

#include "runtime/cuda/driver.h"

namespace tunedgemm::internal::cuda {
namespace {

CUresult make_current(const PrimaryContext& context, bool& pushed) noexcept {
  const Driver& driver = context.driver();
  CUcontext current = nullptr;
  if (driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context.handle()) {
    return CUDA_SUCCESS;
  }
  const CUresult result = driver.cuCtxPushCurrent(context.handle());
  pushed = result == CUDA_SUCCESS;
  return result;
}

}  // namespace

std::atomic<std::uint64_t>& hung_devices() {
  static std::atomic<std::uint64_t> devices{0};
  return devices;
}

PrimaryContext::PrimaryContext(const Driver& driver, CUdevice device)
    : driver_(driver), device_(device) {
  TUNEDGEMM_CHECK(driver_, cuDevicePrimaryCtxRetain(&handle_, device_),
                  "CUDA device " + std::to_string(device_));
}

PrimaryContext::~PrimaryContext() {
  if (!gave_up()) {
    driver_.cuDevicePrimaryCtxRelease(device_);
  }
}

ActiveIfPossible::ActiveIfPossible(const PrimaryContext& context) noexcept
    : driver_(context.driver()), result_(make_current(context, pushed_)) {
  driver_.cuThreadExchangeStreamCaptureMode(&mode_);
}

ActiveIfPossible::~ActiveIfPossible() {
  driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  if (pushed_) {
    pop(driver_);
  }
}

Active::Active(const PrimaryContext& context) : ActiveIfPossible(context) {
  if (result() != CUDA_SUCCESS) {
    throw_device_error(context.driver(), result(), "cuCtxPushCurrent",
                       "CUDA device " + std::to_string(context.device()));
  }
}

bool push_unless_current(const PrimaryContext& context) noexcept {
  bool pushed = false;
  make_current(context, pushed);
  return pushed;
}

void pop(const Driver& driver) noexcept {
  CUcontext popped = nullptr;
  driver.cuCtxPopCurrent(&popped);
}

}  // namespace tunedgemm::internal::cuda
