#include "runtime/context/stored_choice.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "tuner/neighbours.h"

namespace tunedgemm::internal {
namespace {

// The problem as a kernel sees it that relies on no more alignment than the winner had.
Problem aligned_as(const Problem& winner, const Problem& problem) {
  Problem seen = problem;
  for (Matrix Problem::*matrix : {&Problem::a, &Problem::b, &Problem::c, &Problem::d}) {
    (seen.*matrix).alignment_bytes =
        std::min((problem.*matrix).alignment_bytes, (winner.*matrix).alignment_bytes);
  }
  return seen;
}

Problem timed_in(Regime regime, const Problem& problem) {
  Problem timed = problem;
  timed.regime = regime;
  return timed;
}

}  // namespace

std::vector<Instance> instances_of_winners(const Problem& problem, const DeviceIdentity& device,
                                           const DeviceLimits& limits,
                                           std::span<const Record> winners) {
  std::vector<Instance> instances;
  std::set<std::string> known;
  const Regime other = problem.regime == Regime::kCold ? Regime::kWarm : Regime::kCold;
  for (const Problem& asked : {problem, timed_in(other, problem)}) {
    for (const auto& [apart, winner] : nearest_winners(asked, device, winners)) {
      const Candidate candidate{find_family(winner->family), winner->config};
      const Problem seen = aligned_as(winner->problem, asked);
      if (candidate.family == nullptr || candidate.family->backend() != limits.backend ||
          !known.insert(to_text(candidate) + " " + to_text(seen)).second) {
        continue;
      }
      if (Instantiation made = instantiate(seen, candidate, limits)) {
        instances.push_back(std::move(made).value());
      }
    }
  }
  return instances;
}

}  // namespace tunedgemm::internal
