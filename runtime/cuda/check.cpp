#include "runtime/cuda/check.h"

namespace tunedgemm::internal::cuda {
namespace {

DeviceError::Kind kind_of(CUresult error) {
  switch (error) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return DeviceError::Kind::kOutOfMemory;
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_DEVICE:
    case CUDA_ERROR_STUB_LIBRARY:
      return DeviceError::Kind::kUnavailable;
    default:
      return DeviceError::Kind::kFailed;
  }
}

}  // namespace

void throw_device_error(const Driver& driver, CUresult error, std::string_view call,
                        const std::string& object) {
  const std::string name(call.substr(0, call.find('(')));
  throw DeviceError(kind_of(error), name + " failed for " + object + ": " + driver.describe(error));
}

}  // namespace tunedgemm::internal::cuda
