#pragma once

// The host's half of cuda/wgmma/claim_cluster_id.cuh: how many clusters of a launch each GPC is
// expected to run.

#include "kernel_templates/cuda/wgmma/gpc_cluster_ranges.cuh"
#include "kernel_templates/device_limits.h"

namespace tunedgemm::internal {

/// A cluster id for each of `clusters` clusters of `cluster` blocks, of which an SM runs one at a
/// time. Blocks are started on one GPC after the other as long as they have room, so that is how
/// the ids are divided. Precondition: limits.gpc_of_sm is not empty, it has no more than
/// gpc_cluster_ranges.cuh has room for, and there are at most kMostSms clusters.
GpcClusterRanges gpc_cluster_ranges(int clusters, int cluster, const DeviceLimits& limits);

}  // namespace tunedgemm::internal
