#pragma once

// What the kernels of stored winners can do beyond what they were tuned for.

#include <span>
#include <vector>

#include "cache/record.h"
#include "kernel_templates/family.h"

namespace tunedgemm::internal {

/// The kernels of winners on the device as instances for another problem, those of the nearest
/// winners first (tuner/neighbours.h) and of those timed with warm inputs last if the problem's are
/// cold, each once. A kernel serves every size of its class, and memory that is better aligned than
/// it needs.
std::vector<Instance> instances_of_winners(const Problem& problem, const DeviceIdentity& device,
                                           const DeviceLimits& limits,
                                           std::span<const Record> winners);

}  // namespace tunedgemm::internal
