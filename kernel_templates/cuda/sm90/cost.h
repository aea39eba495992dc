#pragma once

// What a config of the wgmma family is believed to cost.

#include "kernel_templates/cuda/sm90/wgmma_numbers.h"

namespace tunedgemm {

/// How long the products of those stages take that are being filled while others are multiplied.
double cycles_ahead(const WgmmaNumbers& numbers);

/// The time of a launch, from these numbers. Good for ranking.
double wgmma_us(const Problem& problem, const WgmmaNumbers& numbers, const DeviceLimits& limits);

}  // namespace tunedgemm
