#pragma once

// SearchLimits: the time and the numbers of candidates and rounds that a rigor level allows.

#include <string>

#include "tuner/tune.h"

namespace tunedgemm::internal {

struct SearchLimits {
  double seconds = 0;            ///< for the whole tuning, including compilation
  int candidates = 0;            ///< how many are compiled and checked
  int refinements = 0;           ///< how many of them are kept until the best tiles are known
  int variants_of_one_tile = 0;  ///< at most this many of the others share a tile
  int neighbours = 0;            ///< how many tuned shapes provide seeds
  int finalists = 0;             ///< in addition to the default
  int minimum_rounds = 0;        ///< of the finals
  int maximum_rounds = 0;
  double finals_seconds = 0;  ///< no round beyond the minimum begins after this long
};

/// A compilation may take this long even if less of the budget is left: otherwise nothing could be
/// compiled within a tiny budget.
constexpr double kLeastCompileSeconds = 2;

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

/// A sentence that says why, if the budget allows too few candidates for the default to have a
/// rival, or too little time for enough rounds; else empty.
std::string why_too_small(const SearchLimits& search_limits, const DecisionCost& cost);

}  // namespace tunedgemm::internal
