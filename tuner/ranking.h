#pragma once

#include <vector>

#include "tuner/search_limits.h"
#include "tuner/selection.h"
#include "tuner/task.h"

namespace tunedgemm::internal {

struct Ranking {
  std::vector<Instance> ranked;      ///< all legal candidates, the best predicted first
  std::vector<TrialRecord> earlier;  ///< outcomes for this very problem, here
  Selection selection;
};

/// What is known of all legal candidates, without those that deserve to be tried first. A view of
/// `ranking`.
Knowledge knowledge_of(const Ranking& ranking);

/// Step 0: brings together what the cost model, the neighbouring shapes and earlier tunings know of
/// the problem, and selects.
Ranking rank(const Task& task, const SearchLimits& search_limits);

}  // namespace tunedgemm::internal
