#pragma once

// encode: creates a CUtensorMap from its description and an address.

#include "kernel_templates/cuda/common/arguments.cuh"
#include "kernel_templates/launch.h"
#include "runtime/cuda/driver.h"

namespace tunedgemm::internal::cuda {

/// The map for these addresses. No lock, no allocation; some 0.03 us. Leaves `encoded` unchanged
/// for Operand::kNone.
CUresult encode(const Driver& driver, const TensorMap& map, const Arguments& arguments,
                CUtensorMap& encoded) noexcept;

}  // namespace tunedgemm::internal::cuda
