#pragma once

// Which configs of the wgmma family are worth trying for a problem.

#include <vector>

#include "kernel_templates/family.h"

namespace tunedgemm {

/// A choice out of all that is legal: every tile that has its schedule's shape, with as many stages
/// as fit, its transpose (swap_ab) where that may gain, the clusters and the orders of tiles that
/// suit it, and the parts of K that fill the device. `wgmma` says what is legal.
std::vector<Config> wgmma_candidates(const Family& wgmma, const Problem& problem,
                                     const DeviceLimits& limits);

}  // namespace tunedgemm
