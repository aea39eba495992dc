#pragma once

// What the files of simt's host half share.

#include <vector>

#include "kernel_templates/cuda/simt/shape.h"
#include "kernel_templates/device_limits.h"
#include "kernel_templates/geometry.h"
#include "kernel_templates/problem/config.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// The kernel's Shape of a problem and a config, which has all knobs of the family. A plain value.
struct SimtShape : simt::Shape {
  SimtShape(const Problem& problem, const Config& config);

  Tiling tiles(const Problem& problem) const;
  /// How many blocks the compiler is asked to leave room for on an SM.
  int blocks_on_sm(const DeviceLimits& limits) const;
};

/// A choice out of all that is legal: good shapes, with those split-K slices that fill the device.
std::vector<Config> simt_candidates(const Problem& problem, const DeviceLimits& limits);

/// The time of a launch. Good for ranking.
double simt_us(const Problem& problem, const SimtShape& shape, const DeviceLimits& limits);

}  // namespace tunedgemm::internal
