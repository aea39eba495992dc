#pragma once

// What a config of the wgmma family is believed to cost.

#include "kernel_templates/cuda/wgmma/wgmma_shape.h"

namespace tunedgemm::internal {

/// How long the products of those stages take that are being filled while others are multiplied.
double cycles_ahead(const WgmmaShape& shape);

/// The time of a launch. Good for ranking.
double wgmma_us(const Problem& problem, const WgmmaShape& shape, const DeviceLimits& limits);

}  // namespace tunedgemm::internal
