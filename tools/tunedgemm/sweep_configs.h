#pragma once

// The configs of a sweep: which ones, and how they are checked and timed. See sweep.cpp.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel_templates/family.h"
#include "tuner/evaluator.h"
#include "tuner/race.h"

namespace tunedgemm::internal {

/// Which configs of a family. A plain value.
struct SweepChoice {
  const Family* family = nullptr;
  std::vector<std::string> configs;  ///< these, as text; empty: all legal ones
  std::vector<std::string> filters;  ///< "stages=3,4": of all legal ones those that pass each
  std::size_t most = 0;              ///< the first of them; the best predicted come first
};

/// A config, and what came of it. Move-only: it owns the kernel, and its contender refers to that.
struct SweptConfig {
  Instance ranked;
  std::unique_ptr<Trial> trial;  ///< null if it was not made
  double max_error = 0;          ///< relative to the error bound
  Contender contender;

  /// Of the times so far; empty if it was rejected or not timed.
  std::optional<Measurement> measurement() const;
};

/// Throws std::invalid_argument with a sentence for a family of another device, a filter without
/// sense, or a config that is none or not legal.
std::vector<SweptConfig> chosen_configs(const SweepChoice& choice, const Problem& problem,
                                        const DeviceLimits& limits);

/// Compiles, checks and times all of them, in `rounds` rounds unless interrupted() ends it; then
/// the fastest come first and the rejected last. They must not outlive the evaluator.
void sweep_configs(std::vector<SweptConfig>& configs, Evaluator& evaluator, int rounds,
                   const RaceOptions& options);

}  // namespace tunedgemm::internal
