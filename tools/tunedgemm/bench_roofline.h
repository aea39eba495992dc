#pragma once

// What a device can do at most, for the column that says how near a kernel comes to it. Other than
// Backend::roofline_us, which is generous since it throws results out, this is the honest one.

#include "kernel_templates/device_limits.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// The least microseconds for the problem: its operations at the peak of the fastest unit for its
/// types (Backend::peak_operations_per_cycle) at `clock_mhz` (0: the highest clock), or the bytes
/// of its matrices, each once, at the memory's nominal bandwidth (cold inputs), whichever take
/// longer. 0 where the peak is not known: on the host, before compute capability 8.0, and of an
/// unknown one.
double roofline_us(const Problem& problem, const DeviceLimits& limits, double clock_mhz);

}  // namespace tunedgemm::internal
