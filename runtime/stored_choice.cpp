#include "runtime/stored_choice.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "tuner/neighbours.h"

namespace tunedgemm {
namespace {

// The problem as a kernel sees it that relies on no more alignment than the winner had, in whatever
// surroundings that was timed.
Problem as_for(const Problem& winner, const Problem& problem) {
  Problem seen = problem;
  seen.regime = winner.regime;
  for (Matrix Problem::*matrix : {&Problem::a, &Problem::b, &Problem::c, &Problem::d}) {
    (seen.*matrix).alignment_bytes =
        std::min((problem.*matrix).alignment_bytes, (winner.*matrix).alignment_bytes);
  }
  return seen;
}

}  // namespace

std::vector<Instance> instances_of_winners(const Problem& problem, const DeviceIdentity& device,
                                           const DeviceLimits& limits,
                                           std::span<const Record> winners) {
  std::vector<std::pair<double, const Record*>> near;
  for (const Record& winner : winners) {
    const auto apart = distance(as_for(winner.problem, problem), winner.problem);
    if (winner.device == device && apart) {
      near.emplace_back(*apart, &winner);
    }
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& left, const auto& right) { return left.first < right.first; });
  std::vector<Instance> instances;
  std::set<std::string> known;
  for (const auto& [apart, winner] : near) {
    const Candidate candidate{find_family(winner->family), winner->config};
    const Problem seen = as_for(winner->problem, problem);
    if (candidate.family == nullptr || candidate.family->backend() != limits.backend ||
        !known.insert(to_text(candidate) + " " + to_text(seen)).second) {
      continue;
    }
    if (Instantiation made = instantiate(seen, candidate, limits)) {
      instances.push_back(std::move(made).value());
    }
  }
  return instances;
}

}  // namespace tunedgemm
