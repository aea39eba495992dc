#pragma once

// The declarations that the .cpp files of this folder share.

#include <array>
#include <vector>

#include "kernel_templates/cuda/geometry.h"
#include "kernel_templates/cuda/skinny/shape.h"
#include "kernel_templates/device_limits.h"
#include "kernel_templates/problem/config.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// The kernel's Shape for a problem and a config. Precondition: the config sets every knob of the
/// family. A plain value.
struct SkinnyShape : skinny::Shape {
  SkinnyShape(const Problem& problem, const Config& config);

  Tiling tiles(const Problem& problem) const;
  /// The extents along the rows of the wide and of the narrow operand.
  std::int64_t wide_extent(const Problem& problem) const { return wide_b ? problem.n : problem.m; }
  std::int64_t narrow_extent(const Problem& problem) const {
    return wide_b ? problem.m : problem.n;
  }

  bool wide_b;
};

/// All but f32 with ieee products.
bool skinny_uses_tensor_cores(const Problem& problem);

/// The values of the knob split_k.
inline constexpr std::array kSkinnySplits{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};

/// The configs worth trying, not all of them legal. Empty unless D has few rows or few columns.
std::vector<Config> skinny_candidates(const Problem& problem, const DeviceLimits& limits);

/// The predicted time of a launch, good for ranking.
double skinny_us(const Problem& problem, const SkinnyShape& shape, const DeviceLimits& limits);

}  // namespace tunedgemm::internal
