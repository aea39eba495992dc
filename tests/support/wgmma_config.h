#pragma once

// A config of the wgmma family, for the tests of several layers. Header-only because
// tunedgemm_test_support does not link kernel_templates; the tests that include it do.

#include <string>
#include <utility>
#include <vector>

#include "kernel_templates/cuda/wgmma/shape.h"
#include "kernel_templates/problem/config.h"

namespace tunedgemm::internal {

using Knobs = std::vector<std::pair<std::string, int>>;

/// A config for 16-bit elements, with some knobs changed.
inline Config wgmma_config(const Knobs& changes = {}) {
#define WGMMA_PAIR(type, name, macro, value, meaning) {#name, static_cast<int>(value)},
  Config config({WGMMA_KNOBS(WGMMA_PAIR, WGMMA_PAIR)});
#undef WGMMA_PAIR
  config.set("block_n", 128).set("cluster_m", 1);
  for (const auto& [knob, value] : changes) {
    config.set(knob, value);
  }
  return config;
}

}  // namespace tunedgemm::internal
