#pragma once

// Which configs of the wgmma family are worth trying for a problem.

#include <vector>

#include "kernel_templates/device_limits.h"
#include "kernel_templates/problem/config.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// A choice out of all that is legal: every tile that has its schedule's shape, with as many stages
/// as fit, its transpose (swap_ab) where that may gain, the clusters and the orders of tiles that
/// suit it, and the split-K slices that fill the device. All keep to why_not_wgmma(); the family
/// may refuse some for the device's sake.
std::vector<Config> wgmma_candidates(const Problem& problem, const DeviceLimits& limits);

}  // namespace tunedgemm::internal
