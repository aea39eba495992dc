#pragma once

// Short forms for a problem and for instantiating one config of a family.

#include <string>
#include <string_view>
#include <vector>

#include "kernel_templates/family.h"
#include "kernel_templates/problem/problem_grammar.h"

namespace tunedgemm::internal {

/// "types=bf16 layout=nt m=16 n=4096 k=1024", canonical. Throws if the text is wrong.
inline CanonicalProblem problem_of(std::string_view text) {
  Problem written = default_problem();
  read_text(text, written);
  return canonical(completed(written));
}

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
