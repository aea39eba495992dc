#pragma once

// The declarations that the .cpp files of this folder share.

#include <array>
#include <vector>

#include "kernel_templates/device_limits.h"
#include "kernel_templates/host/blocked/shape.h"
#include "kernel_templates/problem/config.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// The kernel's Shape for a problem and a config. The config must have all knobs of the family. A
/// plain value.
struct BlockedShape : blocked::Shape {
  BlockedShape(const Problem& problem, const Config& config);

  int prefetch;
};

/// The values of split_m and split_n: the factors of the usual numbers of threads.
inline constexpr std::array kBlockedSplits{1,  2,  3,  4,  5,  6,  7,  8,  10, 12, 14,  16,
                                           20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128};

/// The number of vector registers of a core.
int vector_registers(const DeviceLimits& limits);

/// The configs worth trying: tiles with many accumulators for few loads, splits that give every
/// thread a part of D, and blocks that are not larger than the problem.
std::vector<Config> blocked_candidates(const Problem& problem, const DeviceLimits& limits);

/// The predicted time of a launch, for ranking.
double blocked_us(const Problem& problem, const BlockedShape& shape, const DeviceLimits& limits);

}  // namespace tunedgemm::internal
