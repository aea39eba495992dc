#include "tuner/search_limits.h"

#include <algorithm>
#include <limits>

#include "kernel_templates/base/number_text.h"
#include "tuner/evaluator.h"
#include "tuner/race.h"

namespace tunedgemm::internal {
namespace {

// At most one candidate in this many is reserved for refinement.
constexpr int kCandidatesPerRefinement = 4;

SearchLimits search_limits_of(Rigor rigor) {
  constexpr int kAll = std::numeric_limits<int>::max();
  constexpr double kUnlimited = std::numeric_limits<double>::infinity();
  switch (rigor) {
    case Rigor::kModel:
      return {.seconds = 5,
              .candidates = 6,
              .refinements = 0,
              .variants_of_one_tile = 1,
              .neighbours = 2,
              .finalists = 2,
              .minimum_rounds = 5,
              .maximum_rounds = 7,
              .finals_seconds = 0.1};
    case Rigor::kQuick:
      return {.seconds = 5,
              .candidates = 12,
              .refinements = 4,
              .variants_of_one_tile = 2,
              .neighbours = 2,
              .finalists = 4,
              .minimum_rounds = 7,
              .maximum_rounds = 11,
              .finals_seconds = 0.3};
    case Rigor::kNormal:
      break;
    case Rigor::kExhaustive:
      return {.seconds = kUnlimited,
              .candidates = kAll,
              .refinements = 0,
              .variants_of_one_tile = kAll,
              .skips_hopeless = false,
              .neighbours = 8,
              .finalists = 16,
              .minimum_rounds = 9,
              .maximum_rounds = 51,
              .finals_seconds = 4};
  }
  return {.seconds = 30,
          .candidates = 28,
          .refinements = 8,
          .variants_of_one_tile = 2,
          .neighbours = 4,
          .finalists = 8,
          .minimum_rounds = 7,
          .maximum_rounds = 25,
          .finals_seconds = 0.4};
}

}  // namespace

SearchLimits search_limits_of(Rigor rigor, const Budget& budget) {
  SearchLimits search_limits = search_limits_of(rigor);
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
