#include "tuner/search_limits.h"

#include <algorithm>
#include <limits>

namespace tunedgemm {
namespace {

/// Of a small budget at most one candidate in so many waits for the best tiles.
constexpr int kCandidatesPerRefinement = 4;

SearchLimits search_limits_of(Rigor rigor) {
  constexpr int kAll = std::numeric_limits<int>::max();
  constexpr double kUnlimited = std::numeric_limits<double>::infinity();
  switch (rigor) {
    case Rigor::kModel:
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
              .neighbours = 8,
              .finalists = 16,
              .minimum_rounds = 9,
              .maximum_rounds = 51,
              .finals_seconds = 4};
  }
  return {.seconds = 30,
          .candidates = 32,
          .refinements = 8,
          .variants_of_one_tile = 2,
          .neighbours = 4,
          .finalists = 8,
          .minimum_rounds = 7,
          .maximum_rounds = 25,
          .finals_seconds = 0.8};
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

}  // namespace tunedgemm
