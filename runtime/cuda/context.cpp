#include "runtime/cuda/context.h"

#include <string>

#include "runtime/cuda/check.h"

namespace tunedgemm::cuda {

PrimaryContext::PrimaryContext(const Driver& driver, CUdevice device)
    : driver_(driver), device_(device) {
  TUNEDGEMM_CHECK(driver_, cuDevicePrimaryCtxRetain(&handle_, device_),
                  "CUDA device " + std::to_string(device_));
}

PrimaryContext::~PrimaryContext() {
  if (!driver_.gave_up()) {
    driver_.cuDevicePrimaryCtxRelease(device_);
  }
}

Active::Active(const PrimaryContext& context) noexcept
    : driver_(context.driver()), pushed_(push_unless_current(context)) {
  driver_.cuThreadExchangeStreamCaptureMode(&mode_);
}

Active::~Active() {
  driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  if (pushed_) {
    pop(driver_);
  }
}

bool push_unless_current(const PrimaryContext& context) noexcept {
  const Driver& driver = context.driver();
  CUcontext current = nullptr;
  if (driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context.handle()) {
    return false;
  }
  return driver.cuCtxPushCurrent(context.handle()) == CUDA_SUCCESS;
}

void pop(const Driver& driver) noexcept {
  CUcontext popped = nullptr;
  driver.cuCtxPopCurrent(&popped);
}

}  // namespace tunedgemm::cuda
