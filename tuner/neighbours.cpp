#include "tuner/neighbours.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

namespace tunedgemm::internal {
namespace {

// The largest distance() of a useful neighbour. A winner further away predicts no better than the
// cost model.
constexpr double kReach = 4;
// A neighbour gives at most this many seeds, because small problems have many ties that resemble
// each other.
constexpr std::size_t kSeedsOfOneNeighbour = 3;

// A winner may run unmeasured on another problem if no extent differs by more than this many
// doublings.
constexpr double kNearEnough = 1;
// The model's errors on similar shapes differ by less than this factor.
constexpr double kModelScatter = 1.05;
// The number of near winners to check. A check is slow, because it ranks all configs of the
// winner's problem.
constexpr int kNearWinners = 3;

double size_difference(std::int64_t left, std::int64_t right) {
  return std::abs(std::log2(1.0 + static_cast<double>(left)) -
                  std::log2(1.0 + static_cast<double>(right)));
}

bool same_elements(const Matrix& left, const Matrix& right) {
  return left.type == right.type && left.order == right.order;
}

bool comparable(const Problem& left, const Problem& right) {
  return same_elements(left.a, right.a) && same_elements(left.b, right.b) &&
         same_elements(left.d, right.d) && left.beta == right.beta &&
         (left.beta == ScalarClass::kZero || same_elements(left.c, right.c)) &&
         left.bias == right.bias && left.activation == right.activation &&
         left.numerics == right.numerics && left.scaling_a == right.scaling_a &&
         left.scaling_b == right.scaling_b && left.group_kind == right.group_kind;
}

bool same_strides(const Problem& left, const Problem& right) {
  const auto strides = [](const Problem& problem) {
    return std::array{problem.a.leading_dimension, problem.b.leading_dimension,
                      problem.c.leading_dimension, problem.d.leading_dimension,
                      problem.a.batch_stride,      problem.b.batch_stride,
                      problem.c.batch_stride,      problem.d.batch_stride};
  };
  return strides(left) == strides(right) && left.c_is_d == right.c_is_d;
}

bool is_near_enough(const Problem& left, const Problem& right) {
  return same_alignment(left, right) && size_difference(left.m, right.m) <= kNearEnough &&
         size_difference(left.n, right.n) <= kNearEnough &&
         size_difference(left.k, right.k) <= kNearEnough &&
         size_difference(left.batch, right.batch) <= kNearEnough;
}

// The predicted time relative to the best prediction.
double disfavour(const Instance& instance, std::span<const Instance> ranked) {
  return instance.predicted_us / ranked.front().predicted_us;
}

// The winner's config on `problem`; empty if the model rates the config clearly worse there than on
// the winner's own problem.
std::optional<Instance> carried_over(const Record& winner, const Problem& problem,
                                     const DeviceLimits& limits, std::span<const Instance> ranked) {
  const Candidate candidate{find_family(winner.family), winner.config};
  // If the budget cut a tuning short, its winner is little better than the model's guess.
  if (!winner.complete) {
    return std::nullopt;
  }
  Instantiation on_problem = instantiate(problem, candidate, limits);
  const Instantiation where_it_won = instantiate(winner.problem, candidate, limits);
  if (!on_problem || !where_it_won) {
    return std::nullopt;
  }
  const double before = disfavour(*where_it_won, ranked_candidates(winner.problem, limits));
  const bool is_favoured = disfavour(*on_problem, ranked) <= kModelScatter * std::max(1.0, before);
  return is_favoured ? std::optional(std::move(on_problem).value()) : std::nullopt;
}

// The nearest winner of this device that carries over.
std::optional<Instance> near_choice(const Problem& problem, const DeviceIdentity& device,
                                    const DeviceLimits& limits, std::span<const Record> winners,
                                    std::span<const Instance> ranked) {
  int checked = 0;
  for (const auto& [apart, winner] : nearest_winners(problem, device, winners)) {
    if (!is_near_enough(problem, winner->problem)) {
      continue;
    }
    if (checked++ == kNearWinners) {
      break;
    }
    if (auto carried = carried_over(*winner, problem, limits, ranked)) {
      return carried;
    }
  }
  return std::nullopt;
}

// The first winner of another device that this device's model rates about as well as its best. How
// that device's model rated it is unknown: a record has no limits.
std::optional<Instance> choice_of(std::span<const TunedProblem> elsewhere, const Problem& problem,
                                  const DeviceLimits& limits, std::span<const Instance> ranked) {
  for (const TunedProblem& tuned : elsewhere) {
    const Record& winner = tuned.winner;
    Instantiation instance =
        instantiate(problem, Candidate{find_family(winner.family), winner.config}, limits);
    if (winner.complete && instance && disfavour(*instance, ranked) <= kModelScatter) {
      return std::move(instance).value();
    }
  }
  return std::nullopt;
}

std::vector<Instance> with_first(std::optional<Instance> first, std::vector<Instance> ranked) {
  if (first) {
    std::erase_if(ranked,
                  [&](const Instance& choice) { return choice.candidate == first->candidate; });
    ranked.insert(ranked.begin(), *std::move(first));
  }
  return ranked;
}

void add_seed(std::vector<Instance>& seeds, const Candidate& seed, const Problem& problem,
              const DeviceLimits& limits) {
  const bool is_duplicate = std::any_of(
      seeds.begin(), seeds.end(), [&](const Instance& other) { return other.candidate == seed; });
  if (is_duplicate) {
    return;
  }
  if (Instantiation instance = instantiate(problem, seed, limits)) {
    seeds.push_back(std::move(instance).value());
  }
}

}  // namespace

bool same_alignment(const Problem& left, const Problem& right) {
  const auto alignments = [](const Problem& problem) {
    return std::array{problem.a.alignment_bytes, problem.b.alignment_bytes,
                      problem.c.alignment_bytes, problem.d.alignment_bytes};
  };
  return alignments(left) == alignments(right) && left.alpha == right.alpha;
}

std::optional<double> distance(const Problem& left, const Problem& right) {
  if (!comparable(left, right)) {
    return std::nullopt;
  }
  return size_difference(left.m, right.m) + size_difference(left.n, right.n) +
         size_difference(left.k, right.k) + size_difference(left.batch, right.batch) +
         (same_alignment(left, right) ? 0 : 1) + (same_strides(left, right) ? 0 : 0.25) +
         (left.launch_regime == right.launch_regime ? 0 : 0.25) +
         (left.invariant == right.invariant && left.sm_limit == right.sm_limit ? 0 : 0.25);
}

Problem aligned_as(const Problem& winner, const Problem& problem) {
  Problem lowered = problem;
  for (Matrix Problem::*matrix : {&Problem::a, &Problem::b, &Problem::c, &Problem::d}) {
    (lowered.*matrix).alignment_bytes =
        std::min((problem.*matrix).alignment_bytes, (winner.*matrix).alignment_bytes);
  }
  return lowered;
}

std::vector<NearWinner> nearest_winners(const Problem& problem, const DeviceIdentity& device,
                                        std::span<const Record> winners) {
  std::vector<NearWinner> near;
  for (const Record& winner : winners) {
    const auto apart = distance(problem, winner.problem);
    if (winner.device == device && apart) {
      near.push_back({.apart = *apart, .winner = &winner});
    }
  }
  std::stable_sort(near.begin(), near.end(), [](const NearWinner& left, const NearWinner& right) {
    return left.apart < right.apart;
  });
  return near;
}

std::vector<Instance> neighbour_seeds(const Problem& problem, const DeviceIdentity& device,
                                      const DeviceLimits& limits, std::span<const Record> winners,
                                      int count) {
  std::vector<Instance> seeds;
  int used = 0;
  for (const auto& [apart, winner] : nearest_winners(problem, device, winners)) {
    if (apart > kReach || used++ == count) {
      break;
    }
    const std::size_t enough = seeds.size() + kSeedsOfOneNeighbour;
    add_seed(seeds, Candidate{find_family(winner->family), winner->config}, problem, limits);
    for (const std::string& tie : winner->ties) {
      const auto candidate = parse_candidate(tie);
      if (candidate && seeds.size() < enough) {
        add_seed(seeds, *candidate, problem, limits);
      }
    }
  }
  return seeds;
}

std::vector<TunedProblem> tuned_elsewhere(const Store& store, const CanonicalProblem& problem,
                                          const DeviceIdentity& device) {
  std::vector<TunedProblem> elsewhere;
  for (const DeviceIdentity& similar : store.similar_devices(device)) {
    for (const Record& winner : store.winners(problem, similar)) {
      elsewhere.push_back({winner, store.trials({problem, similar, winner.toolchain})});
    }
  }
  return elsewhere;
}

std::vector<Instance> seeds_from_elsewhere(const Problem& problem, const DeviceLimits& limits,
                                           std::span<const TunedProblem> elsewhere, int count) {
  std::vector<Instance> seeds;
  for (const auto& [winner, timed] : elsewhere) {
    add_seed(seeds, Candidate{find_family(winner.family), winner.config}, problem, limits);
    for (const std::string& tie : winner.ties) {
      if (const auto candidate = parse_candidate(tie)) {
        add_seed(seeds, *candidate, problem, limits);
      }
    }
    std::vector<TrialRecord> finalists = timed;
    std::erase_if(finalists, [](const TrialRecord& trial) { return !trial.final_round; });
    for (const Instance& finalist : measured_instances(problem, limits, std::move(finalists))) {
      add_seed(seeds, finalist.candidate, problem, limits);
    }
  }
  if (seeds.size() > static_cast<std::size_t>(count)) {
    seeds.erase(seeds.begin() + count, seeds.end());
  }
  return seeds;
}

std::vector<Instance> untuned_choices(const Problem& problem, const DeviceIdentity& device,
                                      const DeviceLimits& limits, std::span<const Record> winners,
                                      std::vector<Instance> ranked) {
  std::optional<Instance> first = near_choice(problem, device, limits, winners, ranked);
  return with_first(std::move(first), std::move(ranked));
}

std::vector<Instance> untuned_choices(const Store& store, const CanonicalProblem& problem,
                                      const DeviceIdentity& device, const DeviceLimits& limits,
                                      std::vector<Instance> ranked) {
  std::optional<Instance> first = near_choice(
      problem, device, limits, store.neighbours(problem, device, kAskedNeighbours), ranked);
  if (!first) {
    first = choice_of(tuned_elsewhere(store, problem, device), problem, limits, ranked);
  }
  return with_first(std::move(first), std::move(ranked));
}

std::optional<Candidate> timed_candidate(const TrialRecord& trial) {
  const Candidate candidate{find_family(trial.family), trial.config};
  const bool is_current =
      candidate.family != nullptr && candidate.family->fingerprint() == trial.family_fingerprint;
  return trial.measurement && is_current ? std::optional(candidate) : std::nullopt;
}

std::vector<Instance> measured_instances(const Problem& problem, const DeviceLimits& limits,
                                         std::vector<TrialRecord> trials) {
  std::erase_if(trials, [](const TrialRecord& trial) { return !trial.measurement; });
  std::sort(trials.begin(), trials.end(), [](const TrialRecord& left, const TrialRecord& right) {
    return left.measurement->median_us < right.measurement->median_us;
  });
  std::vector<Instance> instances;
  for (const TrialRecord& trial : trials) {
    const std::optional<Candidate> candidate = timed_candidate(trial);
    if (!candidate) {
      continue;
    }
    if (Instantiation instance = instantiate(problem, *candidate, limits)) {
      instances.push_back(std::move(instance).value());
    }
  }
  return instances;
}

}  // namespace tunedgemm::internal
