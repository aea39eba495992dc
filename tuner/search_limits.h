#pragma once

// SearchLimits: what a rigor level spends, as numbers.

#include <string>

#include "tuner/tune.h"

namespace tunedgemm::internal {

struct SearchLimits {
  double seconds = 0;            ///< for the whole tuning, compiling included
  int candidates = 0;            ///< how many are compiled and checked
  int refinements = 0;           ///< how many of them wait until the best tiles are known
  int variants_of_one_tile = 0;  ///< how many of the others may compute a tile alike
  int neighbours = 0;            ///< how many tuned shapes lend their winners
  int finalists = 0;             ///< beside the default
  int minimum_rounds = 0;        ///< of the finals
  int maximum_rounds = 0;
  double finals_seconds = 0;  ///< after which no round beyond the minimum begins
};

/// How long a compilation may take, even where less of the budget is left: else the smallest budgets
/// would let nothing be compiled.
constexpr double kLeastCompileSeconds = 2;

/// The rigor's numbers, with the limits that the budget gives put in their place.
SearchLimits search_limits_of(Rigor rigor, const Budget& budget);

/// What a decision costs on a device, about.
struct DecisionCost {
  double seconds_per_candidate = 0;  ///< compiled, checked and screened
  double launch_us = 0;
  double cool_down_seconds = 0;  ///< before a sample
};

/// The least time in which two candidates can be compared.
double seconds_to_decide(const SearchLimits& search_limits, const DecisionCost& cost);

/// A sentence if so little is tried, or in so little time, that the default has no rival or rounds
/// are too few to tell; else empty.
std::string why_too_small(const SearchLimits& search_limits, const DecisionCost& cost);

}  // namespace tunedgemm::internal
