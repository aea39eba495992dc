#include "tuner/m_ladder.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "tuner/neighbours.h"
#include "tuner/statistics.h"

namespace tunedgemm::internal {
namespace {

// The penalty, as log2, for each doubling between an M and the nearest M where the kernel was
// measured: the tuner did not try the kernel at the tuned M between them.
constexpr double kPenalty = 0.1;

// The number of candidates, the best predicted first, among which the fastest is sought.
constexpr std::size_t kLookedAt = 64;

double log2_of(std::int64_t size) {
  return std::log2(1.0 + static_cast<double>(size));
}

// The measured time of a config relative to the prediction of the cost model, as log2; empty if the
// config is not legal there.
std::optional<double> log2_error(const Problem& problem, const Candidate& candidate,
                                 const DeviceLimits& limits, double measured_us) {
  const Instantiation instance = instantiate(problem, candidate, limits);
  return instance && measured_us > 0 && instance->predicted_us > 0
             ? std::optional(std::log2(measured_us / instance->predicted_us))
             : std::nullopt;
}

// The error at an M: interpolated between the nearest M below and above, and beyond them that of
// the nearest. `penalty` is added for each doubling between the M and the nearest one.
double error_at(const std::map<double, double>& errors, double log2_m, double penalty) {
  if (errors.empty()) {
    return 0;
  }
  const auto above = errors.lower_bound(log2_m);
  if (above == errors.begin()) {
    return above->second + penalty * (above->first - log2_m);
  }
  const auto below = std::prev(above);
  if (above == errors.end()) {
    return below->second + penalty * (log2_m - below->first);
  }
  const double part = (log2_m - below->first) / (above->first - below->first);
  const double apart = std::min(above->first - log2_m, log2_m - below->first);
  return std::lerp(below->second, above->second, part) + penalty * apart;
}

std::int64_t nearest(const std::vector<std::int64_t>& sizes, std::int64_t m) {
  return *std::ranges::min_element(
      sizes, {}, [&](std::int64_t size) { return std::abs(log2_of(size) - log2_of(m)); });
}

}  // namespace

std::string ladder_key(const Problem& problem) {
  Problem any = problem;
  any.m = 1;
  any.c_is_d = false;
  for (Matrix Problem::*matrix : {&Problem::a, &Problem::b, &Problem::c, &Problem::d}) {
    (any.*matrix).leading_dimension = 0;
    (any.*matrix).batch_stride = 0;
    (any.*matrix).alignment_bytes = 16;
  }
  return to_text(any);
}

std::string served_from(std::int64_t tuned_m) {
  return "served from M = " + std::to_string(tuned_m);
}

std::string tuned_on(const DeviceIdentity& device, const LadderChoice& choice,
                     const Problem& problem) {
  return (choice.tuned_m == problem.m ? "" : served_from(choice.tuned_m) + ", ") + "tuned on " +
         device.name;
}

std::string expected_within(double expected_loss) {
  const auto percent = std::max(1, static_cast<int>(std::ceil(100 * expected_loss)));
  return "expected within " + std::to_string(percent) + " %";
}

MLadder::MLadder(const Problem& problem, const DeviceLimits& limits,
                 std::span<const TunedProblem> tuned)
    : limits_(limits) {
  const std::string key = ladder_key(problem);
  std::vector<const TunedProblem*> rungs;
  for (const TunedProblem& rung : tuned) {
    if (ladder_key(rung.winner.problem) == key) {
      rungs.push_back(&rung);
      tuned_m_.insert(rung.winner.problem->m);
      add_winner(rung.winner);
    }
  }
  for (const TunedProblem* rung : rungs) {
    std::vector<double> errors;
    for (const TrialRecord& trial : rung->timed) {
      const std::optional<Candidate> candidate = timed_candidate(trial);
      if (!candidate) {
        continue;
      }
      add_error(rung->winner.problem, *candidate, trial.measurement->median_us);
      if (trial.predicted_us > 0) {
        errors.push_back(std::log2(trial.measurement->median_us / trial.predicted_us));
      }
    }
    if (!errors.empty()) {
      usual_errors_.insert_or_assign(log2_of(rung->winner.problem->m), median(std::move(errors)));
    }
  }
  for (auto& [text, of_candidate] : kernels_) {
    for (Kernel& kernel : of_candidate) {
      for (auto& [log2_m, error] : kernel.errors) {
        error -= error_at(usual_errors_, log2_m, 0);
      }
    }
  }
}

void MLadder::add_winner(const Record& winner) {
  const Candidate candidate{find_family(winner.family), winner.config};
  if (candidate.family == nullptr) {
    return;
  }
  std::vector<Kernel>& of_candidate = kernels_[to_text(candidate)];
  auto kernel = std::ranges::find_if(of_candidate, [&](const Kernel& other) {
    return same_alignment(other.tuned, winner.problem);
  });
  if (kernel == of_candidate.end()) {
    of_candidate.push_back({.candidate = candidate, .tuned = winner.problem});
    kernel = std::prev(of_candidate.end());
  }
  kernel->won_at.push_back(winner.problem->m);
  add_error(winner.problem, candidate, winner.measurement.median_us);
}

void MLadder::add_error(const Problem& problem, const Candidate& candidate, double measured_us) {
  const auto found = kernels_.find(to_text(candidate));
  if (found == kernels_.end()) {
    return;
  }
  if (const auto error = log2_error(problem, candidate, limits_, measured_us)) {
    for (Kernel& kernel : found->second) {
      kernel.errors.insert_or_assign(log2_of(problem.m), *error);
    }
  }
}

std::vector<LadderChoice> MLadder::choices(const Problem& problem) const {
  std::vector<LadderChoice> choices;
  const double log2_m = log2_of(problem.m);
  for (const auto& [text, of_candidate] : kernels_) {
    for (const Kernel& kernel : of_candidate) {
      Instantiation instance =
          instantiate(aligned_as(kernel.tuned, problem), kernel.candidate, limits_);
      if (!instance || kernel.errors.empty()) {
        continue;
      }
      const double expected_us = instance->predicted_us * std::exp2(error_of(kernel, log2_m));
      choices.push_back({.instance = std::move(instance).value(),
                         .expected_us = expected_us,
                         .tuned_m = nearest(kernel.won_at, problem.m)});
    }
  }
  std::ranges::stable_sort(choices, {}, &LadderChoice::expected_us);
  return choices;
}

std::vector<LadderChoice> MLadder::choices_elsewhere(const Problem& problem) const {
  std::vector<LadderChoice> all = choices(problem);
  std::stable_partition(all.begin(), all.end(),
                        [&](const LadderChoice& choice) { return choice.tuned_m == problem.m; });
  return all;
}

double MLadder::error_of(const Kernel& kernel, double log2_m) const {
  return error_at(kernel.errors, log2_m, kPenalty) + error_at(usual_errors_, log2_m, 0);
}

bool MLadder::has(std::int64_t m) const {
  return tuned_m_.contains(m);
}

double MLadder::expected_us(const Instance& instance) const {
  const auto kernel = kernels_.find(to_text(instance.candidate));
  const bool is_measured = kernel != kernels_.end() && !kernel->second.front().errors.empty();
  const double log2_m = log2_of(instance.problem.m);
  const double error = is_measured ? error_of(kernel->second.front(), log2_m)
                                   : error_at(usual_errors_, log2_m, kPenalty);
  return instance.predicted_us * std::exp2(error);
}

double MLadder::best_expected_us(std::span<const Instance> ranked) const {
  double best_us = 0;
  for (const Instance& instance : ranked.first(std::min(ranked.size(), kLookedAt))) {
    const double us = expected_us(instance);
    best_us = best_us == 0 ? us : std::min(best_us, us);
  }
  if (!ranked.empty()) {
    for (const LadderChoice& choice : choices(ranked.front().problem)) {
      best_us = std::min(best_us, choice.expected_us);
    }
  }
  return best_us;
}

double MLadder::expected_loss(double expected_us, std::span<const Instance> ranked) const {
  const double best_us = best_expected_us(ranked);
  return best_us > 0 ? std::max(0.0, expected_us / best_us - 1) : 0;
}

}  // namespace tunedgemm::internal
