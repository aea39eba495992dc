#include "runtime/evaluation/launch_race.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/device.h"
#include "runtime/evaluation/device_evaluator.h"
#include "tuner/decision.h"
#include "tuner/finals.h"
#include "tuner/race.h"
#include "tuner/remark.h"
#include "tuner/search_limits.h"
#include "tuner/statistics.h"
#include "tuner/time_budget.h"

namespace tunedgemm::internal {
namespace {

// Slower kernels are not raced, because overlap saves a few microseconds at most.
constexpr double kLongUs = 200;

constexpr std::string_view kBudgetIsSpent = "the budget was spent";

struct Variant {
  Candidate candidate;
  std::unique_ptr<Trial> trial;
  Contender contender;
};

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

LaunchRace not_compared(std::string_view why, double seconds) {
  return {.choice = {}, .seconds = seconds, .remark = "launches not compared, " + std::string(why)};
}

// Loads and checks all variants. Empty if one of them fails.
std::vector<Variant> checked(std::span<const Instance> instances, const Binary& binary,
                             Device& device, DeviceEvaluator& evaluator) {
  std::vector<Variant> variants;
  for (const Instance& instance : instances) {
    auto loaded = device.load(binary, instance.launch);
    if (std::holds_alternative<Rejection>(loaded)) {
      return {};
    }
    Variant& variant = variants.emplace_back();
    variant.candidate = instance.candidate;
    variant.trial = evaluator.trial(std::get<0>(std::move(loaded)), instance.launch);
    const auto error = variant.trial->check();
    const auto us = variant.trial->sample(1);
    if (std::holds_alternative<Rejection>(error) || std::holds_alternative<Rejection>(us)) {
      return {};
    }
    variant.contender = contender_of(*variant.trial, std::get<double>(us));
    variant.contender.preference.text = to_text(instance.candidate);
    variant.contender.is_default = variants.size() == 1;
  }
  return variants;
}

LaunchRace race(Device& device, Store& store, std::span<const Instance> instances,
                const Binary& binary, const LaunchRaceBudget& budget) {
  const double begin = now_seconds();
  DeviceEvaluator evaluator(device, store, canonical(instances.front().problem));
  std::vector<Variant> variants = checked(instances, binary, device, evaluator);
  std::vector<Contender*> contenders;
  contenders.reserve(variants.size());
  for (Variant& variant : variants) {
    contenders.push_back(&variant.contender);
  }
  const double prepared = now_seconds() - begin;
  if (contenders.empty()) {
    return {.choice = {}, .seconds = prepared, .remark = {}};
  }
  // run_finals() may take the grace period even if less time is left, so do not start it.
  if (!(budget.seconds - prepared >= TimeBudget::kGraceSeconds)) {
    return not_compared(kBudgetIsSpent, prepared);
  }
  TimeBudget time_budget(evaluator, budget.seconds - prepared, budget.cancelled);
  run_finals(contenders, evaluator, search_limits_of(Rigor::kQuick, {}), time_budget, 0, {});
  const double seconds = prepared + time_budget.seconds_spent();
  if (time_budget.cancelled()) {
    return not_compared("the tuning was interrupted", seconds);
  }
  const bool all_ran = std::all_of(contenders.begin(), contenders.end(), [](const Contender* each) {
    return !each->rejection && !each->rounds_us.empty();
  });
  if (!all_ran) {
    return {.choice = {}, .seconds = seconds, .remark = {}};
  }
  const Decision decision = decide(contenders);
  const Variant& best = variants[decision.winner];
  return {.choice = LaunchChoice{best.candidate, summarize(best.contender.rounds_us)},
          .seconds = seconds,
          .remark = why_kept(decision, Winner::kTunedLaunch)};
}

}  // namespace

LaunchRace fastest_launch(Device& device, Store& store, const Instance& winner,
                          const Binary& binary, double winner_us, const LaunchRaceBudget& budget) {
  if (winner_us > kLongUs) {
    return {};
  }
  Problem back_to_back = winner.problem;
  back_to_back.launch_regime = LaunchRegime::kBackToBack;
  const Instantiation made = instantiate(back_to_back, winner.candidate, device.limits());
  if (!made) {
    return {};
  }
  const std::vector<Instance> instances = launch_variants(*made, device.limits());
  if (instances.size() < 2) {
    return {};
  }
  if (!(budget.seconds >= TimeBudget::kGraceSeconds)) {
    return not_compared(kBudgetIsSpent, 0);
  }
  try {
    return race(device, store, instances, binary, budget);
  } catch (const DeviceError& error) {
    if (error.kind() == DeviceError::Kind::kLost) {
      throw;
    }
    return {};
  }
}

}  // namespace tunedgemm::internal
