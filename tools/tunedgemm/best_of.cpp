#include "tools/tunedgemm/best_of.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <utility>

#include "kernel_templates/cuda/families.h"
#include "kernel_templates/cuda/mma/mma.h"
#include "runtime/evaluation/device_evaluator.h"
#include "tools/shared/program.h"
#include "tuner/neighbours.h"

namespace tunedgemm::internal {
namespace {

constexpr double kSecondsForAll = 120;  // enough to try all candidates

// Tunes with an empty in-memory store, so that earlier rejections do not count.
std::optional<Candidate> tune_fresh(Context& context, const CanonicalProblem& problem,
                                    const TuneOptions& options, std::string* failure) {
  Device& device = context.device();
  const Device::Current current(device);
  DeviceEvaluator evaluator(device, context.store(), problem);  // reuses binaries
  StoreOptions in_memory;
  in_memory.access = StoreOptions::Access::kMemoryOnly;
  const std::unique_ptr<Store> trials = Store::open(in_memory);
  const Tuning tuning = tune({problem, device.identity(), device.toolchain()}, device.limits(),
                             evaluator, *trials, options);
  if (!tuning.record) {
    *failure = tuning.failure;
    return std::nullopt;
  }
  return Candidate{find_family(tuning.record->family), tuning.record->config};
}

}  // namespace

std::optional<Candidate> tuned_winner(Context& context, const CanonicalProblem& problem,
                                      Rigor rigor, std::string* failure) {
  TuneOptions options;
  options.rigor = rigor;
  options.cancelled = interrupted;
  const TuneResult tuned = context.tune(problem, options);
  if (!tuned.record) {
    *failure = tuned.tuning.failure;
    return std::nullopt;
  }
  return Candidate{find_family(tuned.record->family), tuned.record->config};
}

std::optional<Candidate> best_of(Context& context, const CanonicalProblem& problem,
                                 std::vector<Candidate> candidates) {
  Device& device = context.device();
  std::erase_if(candidates, [&](const Candidate& candidate) {
    return candidate.family->backend() != device.limits().backend ||
           !instantiate(problem, candidate, device.limits());
  });
  if (candidates.size() < 2) {
    return candidates.empty() ? std::nullopt : std::optional(candidates.front());
  }
  TuneOptions options;
  options.rigor = Rigor::kQuick;
  options.budget = {.seconds = kSecondsForAll, .candidates = static_cast<int>(candidates.size())};
  options.cancelled = interrupted;
  options.default_candidate = candidates.front();
  options.candidates = std::move(candidates);
  std::string failure;
  return tune_fresh(context, problem, options, &failure);
}

std::optional<Candidate> fresh_winner(Context& context, const CanonicalProblem& problem,
                                      Rigor rigor, int most_candidates, std::string* failure) {
  TuneOptions options;
  options.rigor = rigor;
  options.budget.candidates = most_candidates;
  options.cancelled = interrupted;
  return tune_fresh(context, problem, options, failure);
}

Candidate untuned_choice(Context& context, const CanonicalProblem& problem, Neighbours neighbours) {
  const DeviceIdentity& identity = context.device().identity();
  std::vector<Record> winners;
  if (neighbours == Neighbours::kUsed) {
    winners = context.store().neighbours(problem, identity, kAskedNeighbours);
    std::erase_if(winners, [&](const Record& winner) { return winner.problem == problem; });
  }
  const Device& device = context.device();
  return untuned_choices(problem, device.identity(), device.limits(), winners,
                         ranked_candidates(problem, device.limits()))
      .front()
      .candidate;
}

std::vector<Candidate> favourites_of_family(const Family& family, const Problem& problem,
                                            const DeviceLimits& limits) {
  constexpr std::size_t kMost = 8;
  std::vector<Candidate> favourites;
  for (Instance& ranked : ranked_candidates(problem, limits)) {
    if (ranked.candidate.family == &family && favourites.size() < kMost) {
      favourites.push_back(std::move(ranked.candidate));
    }
  }
  return favourites;
}

std::vector<StoredBinary> stored_binaries(Context& context, const Instance& instance) {
  Device& device = context.device();
  const Toolchain& toolchain = device.toolchain();
  return context.store().find_binaries(instance.source(), toolchain, device.limits().arch,
                                       toolchain.compiler);
}

std::vector<Candidate> triton_tutorial_candidates() {
  std::vector<Candidate> candidates;
  for (Config& config : mma_configs_of_triton_tutorial()) {
    candidates.push_back({&mma_family(), std::move(config)});
  }
  return candidates;
}

std::vector<Config> read_configs(const std::string& path) {
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path)) {
    throw std::invalid_argument("the list of configs " + path +
                                " cannot be read: " + std::strerror(file ? EISDIR : errno));
  }
  std::vector<Config> configs;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') {
      continue;
    }
    const std::optional<Config> config = parse_config(line);
    if (!config) {
      std::string message = path;
      message.append(": the line \"")
          .append(line)
          .append("\" is not a config; expected knobs, as in \"block_m=128 block_n=64 stages=4\"");
      throw std::invalid_argument(message);
    }
    configs.push_back(*config);
  }
  return configs;
}

std::vector<Candidate> nearest_candidates(const std::vector<Config>& configs,
                                          const std::vector<Instance>& instances) {
  const auto distance = [](const Config& config, const Instance& instance) {
    double sum = 0;
    for (const auto& [knob, value] : config.knobs()) {
      const int other = instance.candidate.config.find(knob).value_or(1);
      sum += std::abs(std::log2((1.0 + value) / (1.0 + other)));
    }
    return sum;
  };
  std::vector<Candidate> nearest;
  for (const Config& config : configs) {
    const auto found = std::min_element(instances.begin(), instances.end(),
                                        [&](const Instance& left, const Instance& right) {
                                          return distance(config, left) < distance(config, right);
                                        });
    if (found != instances.end() &&
        std::find(nearest.begin(), nearest.end(), found->candidate) == nearest.end()) {
      nearest.push_back(found->candidate);
    }
  }
  return nearest;
}

}  // namespace tunedgemm::internal
