#include "tools/tunedgemm/bench_race.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <variant>

#include "runtime/evaluation/device_evaluator.h"
#include "tools/tunedgemm/best_of.h"
#include "tuner/remark.h"
#include "tuner/statistics.h"

namespace tunedgemm::internal {
namespace {

// A proposal is left out of the race if it is slower than the fastest kernel by this factor in one
// sample.
constexpr double kFarBehind = 1.5;

// One of our kernels or the baseline's. Its contender refers to the trial.
struct RacedKernel {
  BenchContender result;  ///< without times
  std::unique_ptr<Trial> trial;
  bool must_stay = true;   ///< in the race, even if it is far behind
  bool is_listed = false;  ///< in the row, even if it is rejected
  Contender contender;
};

class BenchRace {
 public:
  BenchRace(Context& context, const CanonicalProblem& problem, const BenchRaceOptions& options)
      : context_(context),
        problem_(problem),
        options_(options),
        evaluator_(context.device(), context.store(), problem) {}

  void add(const NamedCandidate& ours);
  void add_proposals(Baseline& baseline);
  void add_configs(std::span<const Instance> configs);
  void run();
  BenchRow row(const NamedProblem& shape) const;

 private:
  void add_config(const Instance& config);
  void leave_out(const RacedKernel& raced, const std::string& why);
  void leave_out_rejected();
  void sample_once();
  std::variant<Sample, Rejection> sample(Trial& trial, int launches);

  Context& context_;
  const Problem& problem_;
  BenchRaceOptions options_;
  DeviceEvaluator evaluator_;
  std::vector<RacedKernel> kernels_;
  std::vector<std::string> remarks_;
};

// Throws for the first kernel: it must take part, since the others are compared with it.
void BenchRace::leave_out(const RacedKernel& raced, const std::string& why) {
  const BenchContender& result = raced.result;
  const std::string message = (result.kernel.empty() ? result.name : result.kernel) + ": " + why;
  if (kernels_.empty() || &raced == &kernels_.front()) {
    throw std::runtime_error(message);
  }
  remarks_.push_back(message);
}

void BenchRace::leave_out_rejected() {
  const auto is_out = [](const RacedKernel& raced) {
    return raced.contender.rejection && !raced.is_listed;
  };
  for (const RacedKernel& raced : kernels_) {
    if (is_out(raced)) {
      leave_out(raced, raced.contender.rejection->detail);
    }
  }
  std::erase_if(kernels_, is_out);
}

// Checks the kernel's result.
std::optional<Rejection> check(RacedKernel& raced) {
  const auto error = raced.trial->check();
  if (const auto* rejection = std::get_if<Rejection>(&error)) {
    return *rejection;
  }
  raced.result.max_error = std::get<double>(error);
  return std::nullopt;
}

void BenchRace::add(const NamedCandidate& ours) {
  RacedKernel raced;
  raced.result.name = ours.name;
  raced.result.kernel = to_text(ours.candidate);
  const Instantiation instance = instantiate(problem_, ours.candidate, context_.device().limits());
  if (!instance) {
    leave_out(raced, instance.why_not());
    return;
  }
  auto kernel = context_.kernel(*instance);
  if (const auto* rejection = std::get_if<Rejection>(&kernel)) {
    leave_out(raced, rejection->detail);
    return;
  }
  raced.trial = evaluator_.trial(std::get<0>(std::move(kernel)), instance->launch);
  if (const auto rejection = check(raced)) {
    leave_out(raced, to_text(*rejection));
    return;
  }
  raced.result.predicted_us = instance->predicted_us;
  if (const auto stored = stored_binaries(context_, *instance); !stored.empty()) {
    raced.result.describe(stored.front().binary);
  }
  kernels_.push_back(std::move(raced));
}

// Works in batches if compile_ahead() blocks, so that it notices in time if it is cancelled.
void BenchRace::add_configs(std::span<const Instance> configs) {
  const auto batch = static_cast<std::size_t>(evaluator_.compile_batch());
  while (!configs.empty() && !options_.cancelled()) {
    const auto next = configs.first(batch == 0 ? configs.size() : std::min(batch, configs.size()));
    evaluator_.compile_ahead(next);
    for (const Instance& config : next) {
      if (!options_.cancelled()) {
        add_config(config);
      }
    }
    configs = configs.subspan(next.size());
  }
}

void BenchRace::add_config(const Instance& config) {
  RacedKernel raced;
  raced.is_listed = true;
  raced.result.name = config.candidate.family->name();
  raced.result.kernel = to_text(config.candidate);
  raced.result.predicted_us = config.predicted_us;
  Prepared prepared = evaluator_.prepare(config);
  if (const auto* rejection = std::get_if<Rejection>(&prepared)) {
    raced.contender.rejection = *rejection;
  } else {
    raced.trial = std::move(std::get<std::unique_ptr<Trial>>(prepared));
    raced.result.describe(raced.trial->binary());
    raced.contender.rejection = check(raced);
  }
  kernels_.push_back(std::move(raced));
}

void BenchRace::add_proposals(Baseline& baseline) {
  std::string why_not;
  auto proposals = baseline.proposals(evaluator_.verified_problem(), options_.proposals, &why_not);
  if (!why_not.empty()) {
    remarks_.push_back(baseline.name() + " takes no part: " + why_not);
  }
  for (Proposal& proposal : proposals) {
    RacedKernel raced;
    raced.result.name = proposal.name;
    raced.trial = evaluator_.trial(std::move(proposal.kernel), {});
    raced.must_stay = &proposal == &proposals.front() || options_.proposals == 1;
    const auto rejection = check(raced);
    if (rejection) {
      remarks_.push_back(raced.result.name + ": " + to_text(*rejection));
    }
    // The baseline's rounding may exceed our error bound: add a remark, but let the proposal race.
    if (!rejection || rejection->reason == Reason::kWrongResult) {
      kernels_.push_back(std::move(raced));
    }
  }
}

// Takes a sample and measures the clock meanwhile: with the counters of a GPU's SMs if possible,
// else as the device reports it.
std::variant<Sample, Rejection> BenchRace::sample(Trial& trial, int launches) {
  evaluator_.mhz_since_last_call();
  auto us = trial.sample(launches);
  if (auto* rejection = std::get_if<Rejection>(&us)) {
    return std::move(*rejection);
  }
  const double counted_mhz = evaluator_.mhz_since_last_call();
  return Sample{std::get<double>(us),
                counted_mhz > 0 ? counted_mhz : static_cast<double>(context_.device().clock().mhz)};
}

// Samples each kernel once to fill in the contenders, and drops proposals that are far behind.
void BenchRace::sample_once() {
  double best_us = std::numeric_limits<double>::infinity();
  for (RacedKernel& raced : kernels_) {
    if (raced.contender.rejection) {
      continue;
    }
    const auto us = raced.trial->sample(2);
    if (const auto* rejection = std::get_if<Rejection>(&us)) {
      raced.contender.rejection = *rejection;
      continue;
    }
    raced.contender.launch_us = std::max(std::get<double>(us), 0.1);
    raced.contender.sample = [this, trial = raced.trial.get()](int launches) {
      return sample(*trial, launches);
    };
    best_us = std::min(best_us, raced.contender.launch_us);
  }
  leave_out_rejected();
  std::erase_if(kernels_, [&](const RacedKernel& raced) {
    return !raced.must_stay && raced.contender.launch_us > kFarBehind * best_us;
  });
}

void BenchRace::run() {
  evaluator_.warm_up();
  sample_once();
  std::vector<Contender*> contenders;
  for (RacedKernel& raced : kernels_) {
    if (!raced.contender.rejection) {
      contenders.push_back(&raced.contender);
    }
  }
  Race race(std::move(contenders), evaluator_,
            {.sample_us = options_.sample_us,
             .cool_down_seconds = std::chrono::duration<double>(options_.cool_down).count(),
             .most_repeated_rounds = (options_.rounds + 1) / 2,
             .seed = options_.seed});
  const auto goes_on = [&] { return !race.contenders().empty() && !options_.cancelled(); };
  if (goes_on()) {
    race.run_uncounted_round();  // creates the graphs
  }
  while (race.rounds() < options_.rounds && goes_on()) {
    race.run_round();
  }
  leave_out_rejected();
  const auto first = std::ranges::find_if(kernels_, [](const RacedKernel& raced) {
    return !raced.contender.rejection && !raced.contender.rounds_us.empty();
  });
  if (first == kernels_.end()) {
    return;
  }
  const std::string noisy = why_noisy(
      summarize(first->contender.rounds_us),
      {.rounds = race.rounds(), .repeated_rounds = race.repeated_rounds(), .clock_mhz = 0},
      load_of_machine());
  if (!noisy.empty()) {
    remarks_.push_back(noisy);
  }
}

BenchRow BenchRace::row(const NamedProblem& shape) const {
  BenchRow row;
  row.shape = shape;
  row.remarks = remarks_;
  for (const RacedKernel& raced : kernels_) {
    row.add(raced.result, raced.contender, context_.device().limits());
  }
  return row;
}

}  // namespace

BenchRow race_kernels(Context& context, const NamedProblem& shape,
                      const std::vector<NamedCandidate>& ours, Baseline* baseline,
                      const BenchRaceOptions& options) {
  const Device::Current current(context.device());
  const CanonicalProblem problem = canonical(shape.problem);
  BenchRace race(context, problem, options);
  for (const NamedCandidate& one : ours) {
    race.add(one);
  }
  if (baseline != nullptr) {
    race.add_proposals(*baseline);
  }
  race.run();
  return race.row(shape);
}

BenchRow race_configs(Context& context, const NamedProblem& shape,
                      std::span<const Instance> configs, const BenchRaceOptions& options) {
  const Device::Current current(context.device());
  const CanonicalProblem problem = canonical(shape.problem);
  BenchRace race(context, problem, options);
  race.add_configs(configs);
  race.run();
  BenchRow row = race.row(shape);
  std::ranges::stable_sort(row.contenders, {}, [](const BenchContender& contender) {
    return std::tuple(contender.rejection.has_value(), contender.median_us == 0,
                      contender.median_us);
  });
  return row;
}

}  // namespace tunedgemm::internal
