#include "tuner/ranking.h"

#include <algorithm>

#include "tuner/neighbours.h"

namespace tunedgemm::internal {
namespace {

// Of the naive kernel, whose time is nice to know and must not cost more than the tuning.
constexpr double kAffordableUs = 0.25e6;
// The store tells what is near by sizes alone; of so many times the seeds the nearest are taken,
// which alignment and strides decide too.
constexpr int kNearBySize = 4;

std::vector<Instance> instances_of(std::span<const Candidate> candidates, const Task& task) {
  std::vector<Instance> all;
  for (const Candidate& candidate : candidates) {
    all.push_back(instantiate(task.problem, candidate, task.limits).value());
  }
  return all;
}

std::optional<Instance> baseline_of(std::span<const Instance> ranked, const Family& baseline) {
  const auto found = std::find_if(ranked.begin(), ranked.end(), [&](const Instance& instance) {
    return instance.candidate.family == &baseline && instance.predicted_us < kAffordableUs;
  });
  return found == ranked.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

Knowledge knowledge_of(const Ranking& ranking) {
  Knowledge knowledge;
  knowledge.ranked = ranking.ranked;
  knowledge.earlier = ranking.earlier;
  return knowledge;
}

Ranking rank(const Task& task, const SearchLimits& search_limits) {
  const auto& [problem, device, toolchain, limits, evaluator, store, options] = task;
  Ranking ranking;
  ranking.earlier = store.trials(problem, device, toolchain);
  const bool all = options.candidates.empty();
  ranking.ranked =
      all ? ranked_candidates(problem, limits) : instances_of(options.candidates, task);
  Knowledge knowledge = knowledge_of(ranking);
  knowledge.default_candidate =
      options.default_candidate ? instantiate(problem, *options.default_candidate, limits).value()
                                : default_candidate(problem, limits);
  if (!all) {
    ranking.selection = select_given(knowledge);
    return ranking;
  }
  const std::vector<Record> near =
      store.neighbours(problem, device, kNearBySize * search_limits.neighbours);
  const std::vector<Instance> seeds =
      neighbour_seeds(problem, device, limits, near, search_limits.neighbours);
  knowledge.seeds = seeds;
  knowledge.baseline = baseline_of(ranking.ranked, baseline_family(limits.backend));
  ranking.selection = select(knowledge, search_limits);
  return ranking;
}

}  // namespace tunedgemm::internal
