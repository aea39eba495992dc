#pragma once

// Which SMs form a GPC (graphics processing cluster): they share a way to the L2 cache.
// The driver does not tell, and devices of one model differ in it; but the blocks of a cluster
// always run on one GPC, so launches of clusters show it.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel_templates/device_limits.h"
#include "runtime/cuda/context.h"

namespace tunedgemm::internal::cuda {

/// More than any device has: what exceeds them was read wrongly.
inline constexpr int kMostSms = 1024, kMostGpcs = 64;

/// Whether some kernel makes use of the GPCs of such a device.
bool have_gpcs(const DeviceLimits& limits);

/// By %smid the GPC, counted from 0; empty where no kernel makes use of it, and where it could not
/// be found out, of which the log is told. Launches and waits. Never throws.
std::vector<int> find_gpcs(const PrimaryContext& context, CUstream stream,
                           const DeviceLimits& limits) noexcept;

/// The same from what was seen: each entry has the SMs of one cluster. Those that were
/// seen in clusters of one only go to the smallest GPC: some devices have SMs that take
/// part in no larger cluster. Empty if there are more than a device can have.
std::vector<int> gpcs_from_clusters(std::span<const std::vector<int>> clusters);

/// GPCs as text, "0,0,1,1".
std::string to_text(std::span<const int> gpc_of_sm);
/// Empty if the text does not have the GPCs of a device with these limits.
std::vector<int> parse_gpcs(std::string_view text, const DeviceLimits& limits);

}  // namespace tunedgemm::internal::cuda
