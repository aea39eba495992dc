#pragma once

// Finals: step 4. A race that ends when its decision is settled.

#include <cstdint>
#include <functional>
#include <vector>

#include "tuner/contender.h"
#include "tuner/evaluator.h"
#include "tuner/search_limits.h"
#include "tuner/time_budget.h"

namespace tunedgemm::internal {

struct FinalsReport {
  int rounds = 0;
  int repeated_rounds = 0;  ///< thrown away because the clock had dropped
  int clock_mhz = 0;        ///< median over the rounds; 0 where it cannot be told
  bool enough = false;      ///< at least the minimum of rounds
};

/// Races the contenders, who are sorted by their `launch_us`, until the decision is settled, the
/// rounds are all done or the time is over; at least one round. Where time is short the slowest are
/// left out (they have no rounds) before the number of rounds is cut; the default is not.
/// `on_round` gets the number of rounds and may be empty.
FinalsReport run_finals(std::vector<Contender*> contenders, Evaluator& evaluator,
                        const SearchLimits& search_limits, TimeBudget& time_budget,
                        std::uint64_t seed, const std::function<void(int)>& on_round);

}  // namespace tunedgemm::internal
