#pragma once

// encode: a CUtensorMap from its description and an address.

#include "kernel_templates/cuda/common/arguments.cuh"
#include "kernel_templates/family.h"
#include "runtime/cuda/driver.h"

namespace tunedgemm::internal::cuda {

/// The maps that a kernel takes behind its arguments, for these addresses. No lock, no allocation;
/// some 0.03 us each. Those of Operand::kNone are left as they are.
CUresult encode(const Driver& driver, const std::array<TensorMap, 3>& maps,
                const Arguments& arguments, std::array<CUtensorMap, 3>& encoded) noexcept;

}  // namespace tunedgemm::internal::cuda
