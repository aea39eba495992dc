// No winner of another M, problem or device gives an invariant problem a kernel of another
// accumulation class, even if a cache of another version of the library says so.

#include <algorithm>

#include "tests/support/catch.h"
#include "tests/support/gpus.h"
#include "tuner/m_ladder.h"
#include "tuner/neighbours.h"

namespace tunedgemm::internal {
namespace {

CanonicalProblem of_m(std::int64_t m, int invariant) {
  Problem problem =
      make_problem(m, 4096, 8192, DataType::kBF16, DataType::kBF16, DataType::kBF16, "nt");
  problem.invariant = invariant;
  return canonical(problem);
}

DeviceIdentity device(const char* name) {
  DeviceIdentity device;
  device.backend = "cuda";
  device.name = name;
  device.compute_capability = 90;
  return device;
}

// A candidate of this class for M = 16.
Candidate of_class(AccumulationClass wanted) {
  for (const Instance& instance : ranked_candidates(of_m(16, 0), h200())) {
    if (accumulation_class(instance.candidate, instance.problem, h200()) == wanted) {
      return instance.candidate;
    }
  }
  FAIL("no such candidate");
  return {};
}

Record won(std::int64_t m, int invariant, const Candidate& winner, const char* device_name) {
  Record record;
  record.problem = of_m(m, invariant);
  record.device = device(device_name);
  record.family = winner.family->name();
  record.config = winner.config;
  record.measurement.median_us = 1;
  record.ties = {to_text(winner)};
  return record;
}

bool is_mma(const Instance& instance) {
  return accumulation_class(instance.candidate, instance.problem, h200()) ==
         AccumulationClass::kMma;
}

}  // namespace

TEST_CASE("Winners of other classes are no choice for an invariant problem") {
  const CanonicalProblem problem = of_m(16, 1);
  const DeviceLimits limits = h200();
  const Candidate right = of_class(AccumulationClass::kMma);
  for (const AccumulationClass other : {AccumulationClass::kNone, AccumulationClass::kInOrder}) {
    const Candidate wrong = of_class(other);
    INFO(to_text(wrong));
    for (const int invariant : {0, 1}) {
      for (const std::int64_t m : {16, 64}) {
        // The only winner, and the winner beside one of the right class.
        for (const bool has_right : {false, true}) {
          std::vector<Record> here{won(m, invariant, wrong, "here")};
          std::vector<TunedProblem> rungs{{here.front(), {}}};
          if (has_right) {
            here.push_back(won(32, 1, right, "here"));
            rungs.push_back({here.back(), {}});
          }
          const std::size_t expected = has_right ? 1 : 0;
          const auto seeds = neighbour_seeds(problem, device("here"), limits, here, 8);
          CHECK(seeds.size() == expected);
          CHECK(std::ranges::all_of(seeds, is_mma));
          const MLadder ladder(problem, limits, rungs);
          CHECK(ladder.choices(problem).size() == expected);
          CHECK(ladder.choices_elsewhere(problem).size() == expected);
          CHECK(seeds_from_elsewhere(problem, limits, rungs, 8).size() == expected);
          const auto choices = untuned_choices(problem, device("here"), limits, here,
                                               ranked_candidates(problem, limits));
          CHECK(std::ranges::all_of(choices, is_mma));
        }
      }
    }
  }
}

TEST_CASE("The rungs of an invariant ladder are invariant winners") {
  const DeviceLimits limits = h200();
  const Candidate right = of_class(AccumulationClass::kMma);
  const std::vector<TunedProblem> rungs{{won(32, 0, right, "here"), {}}};
  CHECK(MLadder(of_m(16, 1), limits, rungs).choices(of_m(16, 1)).empty());
  CHECK(MLadder(of_m(16, 0), limits, rungs).choices(of_m(16, 0)).size() == 1);
}

}  // namespace tunedgemm::internal
