#pragma once

// A config of the wgmma family, for the tests of several layers. Header-only because
// tunedgemm_test_support does not link kernel_templates; the tests that include it do.

#include <string>
#include <utility>
#include <vector>

#include "kernel_templates/problem/config.h"

namespace tunedgemm::internal {

using Knobs = std::vector<std::pair<std::string, int>>;

/// A config for 16-bit elements, with some knobs changed.
inline Config wgmma_config(const Knobs& changes = {}) {
  Config config({{"block_m", 128},
                 {"block_n", 128},
                 {"block_k", 64},
                 {"stages", 4},
                 {"epilogue_stages", 2},
                 {"consumers", 2},
                 {"ping_pong", 0},
                 {"cluster_m", 1},
                 {"cluster_n", 1},
                 {"group_m", 8},
                 {"raster_along_n", 0},
                 {"gpc_aware", 0},
                 {"evict_first", 0},
                 {"split_k", 1},
                 {"in_flight", 1},
                 {"tensor_store", 1},
                 {"programmatic", 1},
                 {"swap_ab", 0},
                 {"prefetch", 0}});
  for (const auto& [knob, value] : changes) {
    config.set(knob, value);
  }
  return config;
}

}  // namespace tunedgemm::internal
