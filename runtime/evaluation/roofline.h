#pragma once

#include "kernel_templates/device_limits.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm {

/// The roofline in microseconds, the least that a multiplication can take on the device: its
/// operations at a generous peak rate, its inputs over twice the bandwidth of the memory (cold
/// inputs on a GPU). What is faster did not do the work.
double device_roofline_us(const Problem& problem, const DeviceLimits& limits);

}  // namespace tunedgemm
