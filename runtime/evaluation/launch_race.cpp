#include "runtime/evaluation/launch_race.h"

#include <utility>
#include <vector>

#include "runtime/device.h"
#include "runtime/evaluation/device_evaluator.h"
#include "tuner/decision.h"
#include "tuner/finals.h"
#include "tuner/race.h"
#include "tuner/search_limits.h"
#include "tuner/statistics.h"
#include "tuner/time_budget.h"

namespace tunedgemm {
namespace {

// Overlapping spares some microsecond at most.
constexpr double kLongUs = 200;

struct Variant {
  Candidate candidate;
  std::unique_ptr<Trial> trial;
  Contender contender;
};

std::optional<LaunchChoice> race(Device& device, Store& store, const Instance& winner,
                                 const Binary& binary) {
  const std::vector<Instance> instances = launch_variants(winner, device.limits());
  if (instances.size() < 2) {
    return std::nullopt;
  }
  DeviceEvaluator evaluator(device, store, winner.problem);
  std::vector<Variant> variants;
  for (const Instance& instance : instances) {
    auto loaded = device.load(binary, instance.launch);
    if (std::holds_alternative<Rejection>(loaded)) {
      return std::nullopt;
    }
    Variant& variant = variants.emplace_back();
    variant.candidate = instance.candidate;
    variant.trial = evaluator.trial(std::get<0>(std::move(loaded)), instance.launch);
    const auto checked = variant.trial->check();
    const auto us = variant.trial->sample(1);
    if (std::holds_alternative<Rejection>(checked) || std::holds_alternative<Rejection>(us)) {
      return std::nullopt;
    }
    variant.contender = contender_of(*variant.trial, std::get<double>(us));
    variant.contender.preference.text = to_text(instance.candidate);
    variant.contender.is_default = variants.size() == 1;
  }
  std::vector<Contender*> contenders;
  contenders.reserve(variants.size());
  for (Variant& variant : variants) {
    contenders.push_back(&variant.contender);
  }
  const SearchLimits search_limits = search_limits_of(Rigor::kQuick, {});
  TimeBudget time_budget(evaluator, search_limits.seconds, {});
  run_finals(contenders, evaluator, search_limits, time_budget, 0, {});
  for (const Contender* contender : contenders) {
    if (contender->rejection || contender->rounds_us.empty()) {
      return std::nullopt;
    }
  }
  const Variant& best = variants[decide(contenders).winner];
  return LaunchChoice{best.candidate, summarize(best.contender.rounds_us)};
}

}  // namespace

std::optional<LaunchChoice> fastest_launch(Device& device, Store& store, const Instance& winner,
                                           const Binary& binary, double winner_us) {
  if (winner_us > kLongUs) {
    return std::nullopt;
  }
  Problem back_to_back = winner.problem;
  back_to_back.launches = Launches::kBackToBack;
  const Instantiation made = instantiate(back_to_back, winner.candidate, device.limits());
  if (!made) {
    return std::nullopt;
  }
  try {
    return race(device, store, *made, binary);
  } catch (const DeviceError& error) {
    if (error.kind() == DeviceError::Kind::kFailed) {
      throw;
    }
    return std::nullopt;
  }
}

}  // namespace tunedgemm
