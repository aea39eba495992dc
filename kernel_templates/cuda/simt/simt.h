#pragma once

// The declarations that the .cpp files of this folder share.

#include <vector>

#include "kernel_templates/cuda/geometry.h"
#include "kernel_templates/cuda/simt/shape.h"
#include "kernel_templates/device_limits.h"
#include "kernel_templates/problem/config.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// The kernel's Shape for a problem and a config. The config must have all knobs of the family. A
/// plain value.
struct SimtShape : simt::Shape {
  SimtShape(const Problem& problem, const Config& config);

  Tiling tiles(const Problem& problem) const;
  /// The number of CTAs per SM for which the compiler must leave registers.
  int blocks_on_sm(const DeviceLimits& limits) const;
};

/// The configs worth trying, not all of them legal: good tile shapes, with the split-K slices that
/// fill the device.
std::vector<Config> simt_candidates(const Problem& problem, const DeviceLimits& limits);

/// The predicted time of a launch, good for ranking.
double simt_us(const Problem& problem, const SimtShape& shape, const DeviceLimits& limits);

}  // namespace tunedgemm::internal
