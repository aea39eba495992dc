#include "tuner/effort.h"

#include <algorithm>
#include <limits>

namespace tunedgemm {
namespace {

/// Of a small budget at most one candidate in so many waits for the best tiles.
constexpr int kCandidatesPerRefinement = 4;

Effort effort_of(Rigor rigor) {
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

Effort effort_of(Rigor rigor, const Budget& budget) {
  Effort effort = effort_of(rigor);
  if (budget.seconds > 0) {
    effort.seconds = budget.seconds;
  }
  if (budget.candidates > 0) {
    effort.candidates = budget.candidates;
    effort.refinements = std::min(effort.refinements, budget.candidates / kCandidatesPerRefinement);
  }
  return effort;
}

}  // namespace tunedgemm
