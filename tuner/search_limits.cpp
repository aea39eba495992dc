#include "tuner/search_limits.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "kernel_templates/base/number_text.h"
#include "tuner/evaluator.h"
#include "tuner/race.h"

namespace tunedgemm::internal {
namespace {

// At most one candidate in this many is reserved for refinement.
constexpr int kCandidatesPerRefinement = 4;

constexpr int kAll = std::numeric_limits<int>::max();
constexpr double kUnlimited = std::numeric_limits<double>::infinity();
// clang-format off
constexpr SearchLimits kLimitsOfRigors[] = {
    // seconds, candidates, refinements, variants_of_one_tile, skips_hopeless, neighbours,
    // finalists, minimum_rounds, maximum_rounds, finals_seconds
    {5,          6,    0, 1,    true,  2,  2,  5, 7,  0.1},  // kModel
    {5,          12,   4, 2,    true,  2,  4,  7, 11, 0.3},  // kQuick
    {30,         28,   8, 2,    true,  4,  8,  7, 25, 0.4},  // kNormal
    {kUnlimited, kAll, 0, kAll, false, 8,  16, 9, 51, 4},    // kExhaustive
};
// clang-format on

}  // namespace

SearchLimits search_limits_of(Rigor rigor, const Budget& budget) {
  SearchLimits search_limits = kLimitsOfRigors[static_cast<std::size_t>(rigor)];
  if (budget.seconds > 0) {
    search_limits.seconds = budget.seconds;
  }
  if (budget.candidates > 0) {
    search_limits.candidates = budget.candidates;
    search_limits.refinements =
        std::min(search_limits.refinements, budget.candidates / kCandidatesPerRefinement);
  }
  return search_limits;
}

double seconds_to_decide(const SearchLimits& search_limits, const DecisionCost& cost) {
  Contender contender;
  contender.launch_us = cost.launch_us;
  const RaceOptions finals{.cool_down_seconds = cost.cool_down_seconds};
  return 2 * (cost.seconds_per_candidate +
              search_limits.minimum_rounds * seconds_per_round(contender, finals));
}

std::string why_too_small(const SearchLimits& search_limits, const DecisionCost& cost) {
  if (search_limits.candidates < 2) {
    return "a budget of 1 candidate tries the default alone, so nothing is decided; give 2 or more";
  }
  const double needed = seconds_to_decide(search_limits, cost);
  if (needed <= search_limits.seconds) {
    return "";
  }
  return "a budget of " + four_digits(search_limits.seconds) +
         " s is too small to compare two candidates, which takes about " + four_digits(needed) +
         " s; the default is kept if there are too few rounds to tell";
}

}  // namespace tunedgemm::internal
