#pragma once

// Finals: step 4 of tune(). A race that ends when its decision is settled, or after the rounds or
// the time of the rigor.

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
  int repeated_rounds = 0;  ///< discarded because the clock had dropped
  int clock_mhz = 0;        ///< median over the rounds; 0 if unknown
  bool enough = false;      ///< at least the minimum number of rounds
};

/// Races the contenders, which are sorted by `launch_us`, for at least one round: until the
/// decision is settled, all rounds are done, or the time is over. If time is short, the slowest
/// contenders except the default get no rounds. If this is not enough, fewer rounds are run.
/// `on_round` gets the number of rounds and may be empty.
FinalsReport run_finals(std::vector<Contender*> contenders, Evaluator& evaluator,
                        const SearchLimits& search_limits, TimeBudget& time_budget,
                        std::uint64_t seed, const std::function<void(int)>& on_round);

}  // namespace tunedgemm::internal
