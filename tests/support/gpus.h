#pragma once

// Properties of GPUs, for tests that run without a GPU. Header-only.

#include <cstddef>
#include <vector>

#include "kernel_templates/device_limits.h"

namespace tunedgemm::internal {

inline DeviceLimits h200() {
  DeviceLimits limits;
  limits.backend = "cuda";
  limits.arch = 90;
  limits.sm_count = 132;
  limits.shared_bytes_per_block = 232448;
  limits.shared_bytes_per_sm = 233472;
  limits.l2_bytes = 50ll << 20;
  limits.memory_bytes = 140ll << 30;
  limits.clock_ghz = 1.98;
  limits.memory_gb_per_s = 4800;
  return limits;
}

/// The GPC of each SM on a GPU with eight GPCs, to which pairs of SMs belong in turn.
inline std::vector<int> eight_gpcs(int sm_count) {
  std::vector<int> gpc_of_sm;
  gpc_of_sm.reserve(static_cast<std::size_t>(sm_count));
  for (int sm = 0; sm < sm_count; ++sm) {
    gpc_of_sm.push_back(sm / 2 % 8);
  }
  return gpc_of_sm;
}

}  // namespace tunedgemm::internal
