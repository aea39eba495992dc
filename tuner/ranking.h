#pragma once

#include "tuner/effort.h"
#include "tuner/selection.h"
#include "tuner/task.h"

namespace tunedgemm {

struct Ranking {
  Selection selection;
  int legal = 0;  ///< how many candidates there are
};

/// Step 0: brings together what the cost model, the neighbouring shapes and earlier tunings know of
/// the problem, and selects.
Ranking rank(const Task& task, const Effort& effort);

}  // namespace tunedgemm
