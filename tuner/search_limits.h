#pragma once

// SearchLimits: the time and the numbers of candidates and rounds that a rigor level allows.

#include <string>

#include "tuner/tune.h"

namespace tunedgemm::internal {

struct SearchLimits {
  double seconds = 0;   ///< for the whole tuning, including compilation
  int candidates = 0;   ///< the most that are compiled and checked
  int refinements = 0;  ///< the part of `candidates` reserved for variants of the best tiles
  int variants_of_one_tile = 0;  ///< in the first selection
  bool skips_hopeless = true;    ///< those that are not expected to come near the fastest
  int neighbours = 0;            ///< how many tuned shapes provide seeds
  int finalists = 0;             ///< in addition to the default
  int minimum_rounds = 0;        ///< of the finals
  int maximum_rounds = 0;
  double finals_seconds = 0;  ///< after this time, only the minimum rounds are run
};

/// A compilation may take this long even if less of the budget is left. Otherwise a tiny budget
/// could compile nothing.
constexpr double kLeastCompileSeconds = 2;
/// If the budget has ended before any candidate was compiled, compilations in a worker may take
/// this long together until one is valid.
constexpr double kOnlyCompileSeconds = 60;

/// The rigor's numbers, overridden by those that the budget gives.
SearchLimits search_limits_of(Rigor rigor, const Budget& budget);

/// The approximate cost of a decision on a device.
struct DecisionCost {
  double seconds_per_candidate = 0;  ///< compiled, checked and screened
  double launch_us = 0;
  double cool_down_seconds = 0;  ///< before a sample
};

/// The least time in which two candidates can be compared.
double seconds_to_decide(const SearchLimits& search_limits, const DecisionCost& cost);

/// A sentence that says why the budget is too small: it leaves no rival for the default, or no time
/// for enough rounds. Empty if the budget suffices.
std::string why_too_small(const SearchLimits& search_limits, const DecisionCost& cost);

}  // namespace tunedgemm::internal
