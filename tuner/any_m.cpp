#include "tuner/any_m.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "tuner/neighbours.h"

namespace tunedgemm::internal {
namespace {

// The penalty of a doubling, as log2: the tuner did not try the config at the nearer M.
constexpr double kPenalty = 0.15;

double log2_of(std::int64_t size) {
  return std::log2(1.0 + static_cast<double>(size));
}

// The measured time of a config relative to the prediction of the cost model, as log2; empty if the
// config is not legal there.
std::optional<double> model_error(const Problem& problem, const Candidate& candidate,
                                  const DeviceLimits& limits, double measured_us) {
  const Instantiation instance = instantiate(problem, candidate, limits);
  return instance && measured_us > 0 && instance->predicted_us > 0
             ? std::optional(std::log2(measured_us / instance->predicted_us))
             : std::nullopt;
}

// A tuned M, and the model's errors there.
struct TunedM {
  double log2_m = 0;
  std::map<std::string, double> errors;  // by candidate, as text

  std::optional<double> error_of(const std::string& candidate) const {
    const auto found = errors.find(candidate);
    return found == errors.end() ? std::nullopt : std::optional(found->second);
  }
};

class Expectation {
 public:
  Expectation(std::int64_t m, const DeviceLimits& limits) : limits_(limits), log2_m_(log2_of(m)) {}

  void add(const Record& winner, std::span<const TrialRecord> trials) {
    TunedM tuned{.log2_m = log2_of(winner.problem.m), .errors = {}};
    for (const TrialRecord& trial : trials) {
      const std::optional<Candidate> candidate = timed_candidate(trial);
      const auto error =
          candidate ? model_error(winner.problem, *candidate, limits_, trial.measurement->median_us)
                    : std::nullopt;
      if (error) {
        tuned.errors[to_text(*candidate)] = *error;
      }
    }
    tuned_.push_back(std::move(tuned));
  }

  // The expected time of the instance; `elsewhere` is the model's error where the config won.
  double us(const Instance& instance, double elsewhere) const {
    const std::string text = to_text(instance.candidate);
    double sum = 0, weights = 0;
    for (const TunedM& tuned : tuned_) {
      if (const auto error = tuned.error_of(text)) {
        const double weight = 1 / (1e-3 + std::abs(tuned.log2_m - log2_m_));
        sum += weight * *error;
        weights += weight;
      }
    }
    return instance.predicted_us * std::exp2(weights > 0 ? sum / weights : elsewhere);
  }

 private:
  const DeviceLimits& limits_;
  double log2_m_;
  std::vector<TunedM> tuned_;
};

}  // namespace

bool differ_in_m_alone(const Problem& left, const Problem& right) {
  return left.n == right.n && left.k == right.k && left.batch == right.batch &&
         left.alpha == right.alpha && left.launch_regime == right.launch_regime &&
         distance(left, right).has_value();
}

std::vector<CarriedWinner> winners_of_other_m(
    const Problem& problem, const DeviceIdentity& device, const DeviceLimits& limits,
    std::span<const Record> winners,
    const std::function<std::vector<TrialRecord>(const Record& winner)>& trials_of) {
  std::vector<const Record*> of_class;
  for (const auto& [apart, winner] : nearest_winners(problem, device, winners)) {
    if (differ_in_m_alone(problem, winner->problem)) {
      of_class.push_back(winner);
    }
  }
  Expectation expectation(problem.m, limits);
  for (const bool above : {false, true}) {
    const auto nearest = std::ranges::find_if(
        of_class, [&](const Record* winner) { return (winner->problem.m > problem.m) == above; });
    if (nearest != of_class.end()) {
      expectation.add(**nearest, trials_of(**nearest));
    }
  }
  std::vector<CarriedWinner> carried;
  std::set<std::string> seen;
  for (const Record* winner : of_class) {
    const Candidate candidate{find_family(winner->family), winner->config};
    const Problem aligned = aligned_as(winner->problem, problem);
    if (!seen.insert(winner->family + to_text(winner->config) + to_text(aligned)).second) {
      continue;
    }
    const auto error =
        model_error(winner->problem, candidate, limits, winner->measurement.median_us);
    if (!error) {
      continue;
    }
    Instantiation instance = instantiate(aligned, candidate, limits);
    if (instance) {
      const double doublings = std::abs(log2_of(winner->problem.m) - log2_of(problem.m));
      const double expected_us = expectation.us(*instance, *error + kPenalty * doublings);
      carried.push_back({.instance = std::move(instance).value(), .expected_us = expected_us});
    }
  }
  std::ranges::stable_sort(carried, {}, &CarriedWinner::expected_us);
  return carried;
}

}  // namespace tunedgemm::internal
