#pragma once

// Which SMs form a GPC (graphics processing cluster): they share a way to the L2 cache.
// The driver does not tell, and devices of one model differ in it; but the blocks of a cluster
// always run on one GPC, so launches of clusters show it.

#include <span>
#include <vector>

#include "kernel_templates/device_limits.h"
#include "runtime/cuda/context.h"

namespace tunedgemm::cuda {

/// By %smid the GPC, counted from 0; empty where no kernel makes use of it, and where it could not
/// be found out, of which the log is told. Never throws.
std::vector<int> find_gpcs(const PrimaryContext& context, CUstream stream,
                           const DeviceLimits& limits) noexcept;

/// The same from what was seen: each entry has the SMs of one cluster. Those that were
/// seen in clusters of one only go to the smallest GPC: some devices have SMs that take
/// part in no larger cluster. Empty if there are more than cuda/sm90/gpc_cluster_ranges.cuh has
/// room for.
std::vector<int> gpcs_from_clusters(std::span<const std::vector<int>> clusters);

}  // namespace tunedgemm::cuda
