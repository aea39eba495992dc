#pragma once

// Short forms for instantiating one config of a family.

#include <string>
#include <vector>

#include "kernel_templates/family.h"

namespace tunedgemm::internal {

/// Throws if the family refuses the config.
inline Instance instance_of(const Family& family, const Problem& problem, const Config& config,
                            const DeviceLimits& limits) {
  return family.instantiate(problem, config, limits).value();
}

/// Why the family refuses the config; empty if it accepts it.
inline std::string refusal(const Family& family, const Problem& problem, const Config& config,
                           const DeviceLimits& limits) {
  return family.instantiate(problem, config, limits).why_not();
}

/// The configs of Family::candidates().
inline std::vector<Config> configs_of(const Family& family, const Problem& problem,
                                      const DeviceLimits& limits) {
  std::vector<Config> configs;
  for (const Instance& instance : family.candidates(problem, limits)) {
    configs.push_back(instance.candidate.config);
  }
  return configs;
}

}  // namespace tunedgemm::internal
