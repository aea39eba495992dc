#pragma once

// SearchLimits: what a rigor level spends, as numbers.

#include "tuner/tune.h"

namespace tunedgemm {

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

/// The rigor's numbers, with the limits that the budget gives put in their place.
SearchLimits search_limits_of(Rigor rigor, const Budget& budget);

}  // namespace tunedgemm
