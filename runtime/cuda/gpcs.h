#pragma once

// The GPC (graphics processing cluster) of each SM. The SMs of a GPC share a path to L2. The driver
// does not report the GPCs, which differ between devices of one model. But the CTAs of a cluster
// always run on one GPC, so launches with clusters reveal which SMs share a GPC.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel_templates/device_limits.h"
#include "runtime/cuda/context.h"

namespace tunedgemm::internal::cuda {

/// No device has more SMs or GPCs. A text or a reading with larger numbers is wrong.
inline constexpr int kMostSms = 1024, kMostGpcs = 64;

/// Whether some kernel uses the GPCs of this device.
bool have_gpcs(const DeviceLimits& limits);

/// The GPC of each SM, indexed by %smid. GPCs are numbered from 0. Empty if no kernel uses GPCs.
/// Also empty, after a log message, if the GPCs cannot be determined. Launches kernels and waits
/// for them.
std::vector<int> find_gpcs(const PrimaryContext& context, CUstream stream,
                           const DeviceLimits& limits) noexcept;

/// Derives the GPCs from the observed clusters, each of which is a list of SMs. Some devices have
/// SMs that run only clusters of one CTA; these SMs are assigned to the smallest GPC. Empty if the
/// clusters reveal no GPC, or more than a device can have.
std::vector<int> gpcs_from_clusters(std::span<const std::vector<int>> clusters);

/// GPCs as text, "0,0,1,1".
std::string to_text(std::span<const int> gpc_of_sm);
/// Empty if the text does not describe a device with these limits.
std::vector<int> parse_gpcs(std::string_view text, const DeviceLimits& limits);

}  // namespace tunedgemm::internal::cuda
