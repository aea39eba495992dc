#include "tools/tunedgemm/sweep_configs.h"

#include <algorithm>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>

#include "tools/shared/program.h"
#include "tools/shared/text.h"
#include "tuner/sample.h"
#include "tuner/statistics.h"

namespace tunedgemm::internal {
namespace {

// "stages=3,4": which values the knob may have. Throws std::invalid_argument.
std::pair<std::string, std::vector<std::int64_t>> parse_filter(const Family& family,
                                                               const std::string& text) {
  const std::size_t sign = text.find('=');
  const std::string name = text.substr(0, sign);
  const auto knobs = family.knobs();
  if (sign == std::string::npos || std::none_of(knobs.begin(), knobs.end(), [&](const Knob& knob) {
        return knob.name == name;
      })) {
    throw std::invalid_argument("--knob " + text + " is not knob=value,value ... with a knob of " +
                                std::string(family.name()));
  }
  return {name, parse_number_list(text.substr(sign + 1), 0)};
}

// The legal candidates of the family that pass every filter, the best predicted first.
std::vector<Instance> filtered_candidates(const Family& family, const Problem& problem,
                                          const DeviceLimits& limits,
                                          const std::vector<std::string>& filters) {
  std::vector<Instance> candidates = family.candidates(problem, limits);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Instance& left, const Instance& right) {
                     return left.predicted_us < right.predicted_us;
                   });
  for (const std::string& filter : filters) {
    const auto [knob, values] = parse_filter(family, filter);
    std::erase_if(candidates, [&, &knob = knob, &values = values](const Instance& ranked) {
      const std::int64_t value = ranked.candidate.config.at(knob);
      return std::find(values.begin(), values.end(), value) == values.end();
    });
  }
  return candidates;
}

// Throws std::invalid_argument for what is no config of the family, or not legal here.
Instance given_candidate(const Family& family, const Problem& problem, const DeviceLimits& limits,
                         const std::string& text) {
  const auto config = parse_config(text);
  Instantiation made = config ? family.instantiate(problem, *config, limits)
                              : Instantiation("it is not knob=value knob=value ...");
  if (!made) {
    throw std::invalid_argument("--config \"" + text + "\": " + made.why_not());
  }
  return std::move(made).value();
}

// Compiles, checks, and takes one sample; what fails gets its rejection.
void try_config(SweptConfig& config, Evaluator& evaluator) {
  Prepared prepared = evaluator.prepare(config.ranked);
  if (auto* rejection = std::get_if<Rejection>(&prepared)) {
    config.contender.rejection = std::move(*rejection);
    return;
  }
  config.trial = std::move(std::get<std::unique_ptr<Trial>>(prepared));
  const auto checked = config.trial->check();
  if (const auto* rejection = std::get_if<Rejection>(&checked)) {
    config.contender.rejection = *rejection;
    return;
  }
  config.max_error = std::get<double>(checked);
  const auto us = plausible_sample(*config.trial, 1, evaluator.roofline_us());
  if (const auto* rejection = std::get_if<Rejection>(&us)) {
    config.contender.rejection = *rejection;
    return;
  }
  config.contender = contender_of(*config.trial, std::get<double>(us));
}

// In batches where the device compiles before it returns, so that an interrupt is noticed in time.
void try_all(std::span<SweptConfig> configs, Evaluator& evaluator) {
  const auto batch = static_cast<std::size_t>(evaluator.compile_batch());
  while (!configs.empty() && !interrupted()) {
    const auto next = configs.first(batch == 0 ? configs.size() : std::min(batch, configs.size()));
    std::vector<Instance> candidates;
    for (const SweptConfig& config : next) {
      candidates.push_back(config.ranked);
    }
    evaluator.compile_ahead(candidates);
    evaluator.warm_up();
    for (SweptConfig& config : next) {
      if (!interrupted()) {
        try_config(config, evaluator);
      }
    }
    configs = configs.subspan(next.size());
  }
}

void race_all(std::vector<SweptConfig>& configs, Evaluator& evaluator, int rounds,
              const RaceOptions& options) {
  std::vector<Contender*> contenders;
  for (SweptConfig& config : configs) {
    if (config.trial && !config.contender.rejection) {
      contenders.push_back(&config.contender);
    }
  }
  evaluator.warm_up();
  Race race(std::move(contenders), evaluator, options);
  while (!race.contenders().empty() && race.rounds() < rounds && !interrupted()) {
    race.run_round();
  }
}

// The fastest first, then what was rejected.
void sort_by_time(std::vector<SweptConfig>& configs) {
  const auto us = [](const SweptConfig& config) {
    const auto measurement = config.measurement();
    return measurement ? measurement->median_us : std::numeric_limits<double>::infinity();
  };
  std::stable_sort(configs.begin(), configs.end(),
                   [&](const SweptConfig& a, const SweptConfig& b) { return us(a) < us(b); });
}

}  // namespace

std::optional<Measurement> SweptConfig::measurement() const {
  const bool was_timed = !contender.rejection && !contender.rounds_us.empty();
  return was_timed ? std::optional(summarize(contender.rounds_us)) : std::nullopt;
}

std::vector<SweptConfig> chosen_configs(const SweepChoice& choice, const Problem& problem,
                                        const DeviceLimits& limits) {
  const Family& family = *choice.family;
  if (family.backend() != limits.backend) {
    throw std::invalid_argument("the family " + std::string(family.name()) +
                                " is not for this device");
  }
  std::vector<Instance> candidates;
  for (const std::string& text : choice.configs) {
    candidates.push_back(given_candidate(family, problem, limits, text));
  }
  if (choice.configs.empty()) {
    candidates = filtered_candidates(family, problem, limits, choice.filters);
  }
  std::vector<SweptConfig> configs;
  for (Instance& candidate : candidates) {
    if (configs.size() < choice.most) {
      configs.emplace_back().ranked = std::move(candidate);
    }
  }
  return configs;
}

void sweep_configs(std::vector<SweptConfig>& configs, Evaluator& evaluator, int rounds,
                   const RaceOptions& options) {
  try_all(configs, evaluator);
  race_all(configs, evaluator, rounds, options);
  sort_by_time(configs);
}

}  // namespace tunedgemm::internal
