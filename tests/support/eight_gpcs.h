#pragma once

#include <cstddef>
#include <vector>

namespace tunedgemm::internal {

/// Which of eight GPCs each SM belongs to: pairs alternately.
inline std::vector<int> eight_gpcs(int sm_count) {
  std::vector<int> gpc_of_sm;
  gpc_of_sm.reserve(static_cast<std::size_t>(sm_count));
  for (int sm = 0; sm < sm_count; ++sm) {
    gpc_of_sm.push_back(sm / 2 % 8);
  }
  return gpc_of_sm;
}

}  // namespace tunedgemm::internal
