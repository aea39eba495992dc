#pragma once

#include <string>

#include "runtime/cuda/driver.h"

namespace tunedgemm::internal::cuda {

/// Device::why_not_memory for the device, whose context must be current. Memory of the device,
/// managed memory, and host memory that is registered or was allocated by CUDA are fine, and so is
/// another device's that this one may access; where the device reads pageable memory, all is.
std::string why_not_reachable(const Driver& driver, CUdevice device, const void* pointer);

}  // namespace tunedgemm::internal::cuda
