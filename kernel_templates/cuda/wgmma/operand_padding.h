#pragma once

// The host's half of cuda/wgmma/pad.cuh: which operands are copied before they are multiplied, where
// to, and what that costs. The problem is the kernel's, transposed where the config swaps A and B.

#include <cstdint>
#include <string>

#include "kernel_templates/cuda/wgmma/operand_padding.cuh"
#include "kernel_templates/device_limits.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// Whether A or B has rows that tensor copies do not take.
bool needs_padding(const Problem& problem);

/// The problem as the kernel that multiplies finds it: operands that are padded lie in their copies.
Problem padded(const Problem& problem);

/// Why the copies have no place; empty if they have, or are not needed.
std::string why_not_padding(const Problem& problem, const DeviceLimits& limits);

/// The copies begin at byte `begin` of the workspace or a little later. Precondition: why_not_padding
/// is empty. Without blocks if nothing is padded.
OperandPadding operand_padding(const Problem& problem, std::int64_t begin,
                               const DeviceLimits& limits);

/// Of the copies, from `begin` on.
std::int64_t padding_end(const Problem& problem, std::int64_t begin);

/// 0 if nothing is padded.
double padding_us(const Problem& problem, const DeviceLimits& limits);

}  // namespace tunedgemm::internal
