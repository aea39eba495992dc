#include "tuner/ranking.h"

#include <string_view>

#include "tuner/neighbours.h"

namespace tunedgemm {
namespace {

// Of the naive kernel, whose time is nice to know and must not cost more than the tuning.
constexpr double kAffordableUs = 0.25e6;

RankedCandidate predicted(const Candidate& candidate, const Task& task) {
  return {candidate, candidate.family->predicted_us(task.problem, candidate.config, task.limits)};
}

std::vector<RankedCandidate> predicted(std::span<const Candidate> candidates, const Task& task) {
  std::vector<RankedCandidate> all;
  for (const Candidate& candidate : candidates) {
    all.push_back(predicted(candidate, task));
  }
  return all;
}

std::optional<RankedCandidate> baseline_of(std::span<const RankedCandidate> ranked,
                                           Backend backend) {
  const std::string_view baseline = backend == Backend::kCuda ? "naive_2d" : "naive_mnk";
  for (const RankedCandidate& candidate : ranked) {
    if (candidate.candidate.family->name() == baseline && candidate.predicted_us < kAffordableUs) {
      return candidate;
    }
  }
  return std::nullopt;
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
  ranking.ranked = all ? ranked_candidates(problem, limits) : predicted(options.candidates, task);
  Knowledge knowledge = knowledge_of(ranking);
  knowledge.default_candidate = predicted(
      options.default_candidate ? *options.default_candidate : default_candidate(problem, limits),
      task);
  if (!all) {
    ranking.selection = select_given(knowledge);
    return ranking;
  }
  const std::vector<RankedCandidate> seeds = predicted(
      neighbour_seeds(problem, device, limits, store.winners(), search_limits.neighbours), task);
  knowledge.seeds = seeds;
  knowledge.baseline = baseline_of(ranking.ranked, limits.backend);
  ranking.selection = select(knowledge, search_limits);
  return ranking;
}

}  // namespace tunedgemm
