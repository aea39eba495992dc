#include "kernel_templates/cuda/wgmma/wgmma.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>

namespace tunedgemm::internal {

bool ranges_fit(const DeviceLimits& limits) {
  return !limits.gpc_of_sm.empty() && limits.gpc_of_sm.size() <= kMostSms &&
         std::ranges::all_of(limits.gpc_of_sm, [](int gpc) { return gpc < kMostGpcs; });
}

GpcClusterRanges gpc_cluster_ranges(int clusters, int cluster, const DeviceLimits& limits) {
  assert(ranges_fit(limits) && clusters <= kMostSms);
  GpcClusterRanges ranges{};
  std::array<int, kMostGpcs> capacity{}, count{};
  for (std::size_t sm = 0; sm < limits.gpc_of_sm.size(); ++sm) {
    const int gpc = limits.gpc_of_sm[sm];
    assert(gpc >= 0);
    ranges.gpc_of_sm[sm] = static_cast<unsigned char>(gpc);
    ranges.gpcs = std::max(ranges.gpcs, gpc + 1);
    ++capacity[static_cast<std::size_t>(gpc)];
  }
  for (int& sms : capacity) {
    sms /= cluster;
  }
  const auto gpcs = static_cast<std::size_t>(ranges.gpcs);
  for (int left = clusters; left > 0;) {
    const int before = left;
    for (std::size_t gpc = 0; gpc < gpcs && left > 0; ++gpc) {
      if (count[gpc] < capacity[gpc]) {
        ++count[gpc];
        --left;
      }
    }
    if (left == before) {  // more clusters than the GPCs seem to hold
      count[gpcs - 1] += left;
      left = 0;
    }
  }
  for (std::size_t gpc = 0; gpc < kMostGpcs; ++gpc) {
    ranges.first[gpc + 1] = static_cast<unsigned char>(ranges.first[gpc] + count[gpc]);
  }
  return ranges;
}

}  // namespace tunedgemm::internal
