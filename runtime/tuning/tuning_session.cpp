#include "runtime/tuning/tuning_session.h"

#include <algorithm>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "kernel_templates/base/log.h"
#include "runtime/backend.h"
#include "runtime/evaluation/device_evaluator.h"
#include "runtime/evaluation/launch_race.h"
#include "runtime/evaluation/watched_evaluator.h"
#include "runtime/tuning/tuning_worker.h"
#include "tuner/crashes.h"
#include "tuner/neighbours.h"
#include "tuner/remark.h"
#include "tuner/search_limits.h"

namespace tunedgemm::internal {
namespace {

// An incomplete tuning is not repeated if it spent this fraction of the budget, because the
// candidates that remain rank lower in the cost model.
constexpr double kSufficientBudgetFraction = 0.5;
// The timeout of the compilation that decides whether an outdated winner is renewed.
constexpr double kRenewalSeconds = 30;
// The fraction of the free memory that a background tuning may take.
constexpr double kBackgroundMemory = 0.1;
// An upper bound of the launches in launch_race.
constexpr int kMostLaunchesOfRace = 100'000;

TuneResult failed(std::string reason) {
  TuneResult result;
  result.tuning.failure = std::move(reason);
  return result;
}

// Races the launch variants of the winner back to back (launch_race.h) in the rest of the budget,
// and keeps the best. In the isolated launch regime the record keeps its measured times.
void choose_launch(Device& device, Store& store, const TuneOptions& options, Tuning& tuning) {
  Record& record = *tuning.record;
  const TuningKey key{record.problem, record.device, record.toolchain};
  const Candidate candidate{find_family(record.family), record.config};
  const Instance winner = instantiate(record.problem, candidate, device.limits()).value();
  const LaunchRaceBudget budget{
      .seconds = search_limits_of(options.rigor, options.budget).seconds - record.spent_seconds,
      .cancelled = options.cancelled};
  std::optional<AtWork> at_work;
  if (options.in_worker()) {
    at_work.emplace(options, candidate, seconds_until_hung(options, winner, kMostLaunchesOfRace));
  }
  const bool marks = !options.in_worker();
  if (marks) {
    const TrialRecord mark = race_mark(crashes_among(store.trials(key)));
    store.mark_in_flight(key, mark.family, mark.config, mark.family_fingerprint);
  }
  const LaunchRace race = fastest_launch(device, store, winner, tuning.winner_binary,
                                         record.measurement.median_us, budget);
  if (marks) {
    store.clear_in_flight(key);
  }
  record.spent_seconds += race.seconds;
  const bool is_back_to_back = record.problem->launch_regime == LaunchRegime::kBackToBack;
  if (!race.choice || is_back_to_back) {
    record.remark = joined_remarks(record.remark, race.remark);
  }
  if (!race.choice || race.choice->candidate == candidate) {
    return;
  }
  record.config = race.choice->candidate.config;
  if (!is_back_to_back) {
    return;
  }
  // The times of the other candidates come from an earlier race. They cannot be compared with the
  // times of this race.
  record.measurement = race.choice->back_to_back;
  record.default_us = record.runner_up_us = 0;
  record.ties.clear();
}

}  // namespace

bool suffices(const Hit& hit, const TuneOptions& options) {
  const Record& record = hit.record;
  if (hit.match != Match::kExact || record.rigor < options.rigor) {
    return false;
  }
  const SearchLimits search_limits = search_limits_of(options.rigor, options.budget);
  return record.complete ||
         record.spent_seconds >= kSufficientBudgetFraction * search_limits.seconds ||
         (record.rigor > options.rigor && record.candidates_tried >= search_limits.candidates);
}

TuningSession::TuningSession(Device& device, Store& store, std::unique_ptr<TuningWorker> worker,
                             const std::filesystem::path& shared_binaries)
    : device_(device),
      store_(store),
      probe_(device, store),
      binaries_(BinaryCache::kMostBytes, shared_binaries),
      worker_(std::move(worker)) {}

TuningSession::~TuningSession() = default;

TuningKey TuningSession::key_of(const CanonicalProblem& problem) const {
  return {problem, device_.identity(), device_.toolchain()};
}

std::optional<Record> TuningSession::find_tuned(const CanonicalProblem& problem,
                                                const TuneOptions& options) {
  auto hit = store_.find(key_of(problem), device_.limits());
  if (!hit) {
    hit = renewed(problem);
  }
  return hit && suffices(*hit, options) ? std::optional(std::move(hit->record)) : std::nullopt;
}

std::optional<Hit> TuningSession::renewed(const CanonicalProblem& problem) {
  auto outdated = store_.find_outdated(key_of(problem), device_.limits());
  if (!outdated || !device_.why_not_compile().empty()) {
    return std::nullopt;
  }
  const Source source = outdated->hit.winner.source();
  const int architecture = device_.limits().arch;
  std::optional<Binary> now = store_.find_binary(source, device_.toolchain(), architecture);
  if (!now) {
    auto compiled = device_.compile_within(source, kRenewalSeconds);
    if (!std::holds_alternative<Binary>(compiled)) {
      return std::nullopt;
    }
    now = std::get<Binary>(std::move(compiled));
    // Store the binary even if its code differs, so that the source is compiled only once.
    store_.put_binary(source, device_.toolchain(), architecture, *now);
  }
  if (now->code != outdated->binary.code) {
    return std::nullopt;
  }
  store_.renew(*outdated);
  log_info("keeping the winner of " + to_text(problem) + ": the template of " +
           to_text(outdated->hit.winner.candidate) + " has changed, but not its machine code");
  return std::move(outdated->hit);
}

TuneResult TuningSession::tune(const CanonicalProblem& problem, const TuneOptions& options,
                               double lease_wait_seconds) {
  const std::scoped_lock lock(tuning_mutex_);
  return tune_alone(problem, options, LookUp::kNeeded, lease_wait_seconds);
}

TuneResult TuningSession::tune_missing(const CanonicalProblem& problem, const TuneOptions& options,
                                       std::int64_t tuned_before) {
  const std::scoped_lock lock(tuning_mutex_);
  warn_of_budget(problem, options);
  return tune_alone(problem, options, tuned_ == tuned_before ? LookUp::kDone : LookUp::kNeeded,
                    kLeaseWaitSeconds);
}

TuneResult TuningSession::tune_alone(const CanonicalProblem& problem, const TuneOptions& options,
                                     LookUp look_up, double lease_wait_seconds) {
  if (look_up == LookUp::kNeeded && !options.force) {
    if (auto record = find_tuned(problem, options)) {
      return {.kind = TuneResult::Kind::kCached, .record = std::move(record), .tuning = {}};
    }
  }
  if (const std::string reason = device_.why_not_compile(); !reason.empty()) {
    return failed(reason);
  }
  if (can_use_worker(options)) {
    return measure_in_worker(problem, options);
  }
  const Lease lease = store_.acquire(key_of(problem), lease_wait_seconds);
  if (lease.winners_changed() && !options.force) {
    if (auto record = find_tuned(problem, options)) {
      return {.kind = TuneResult::Kind::kElsewhere, .record = std::move(record), .tuning = {}};
    }
  }
  if (!lease) {
    TuneResult busy =
        failed("another process has been tuning " + to_text(problem) + " for more than " +
               std::to_string(static_cast<int>(lease_wait_seconds)) + " seconds");
    busy.is_leased_elsewhere = true;
    return busy;
  }
  return measure(problem, options);
}

bool TuningSession::can_use_worker(const TuneOptions& options) const {
  return worker_ != nullptr && !options.default_candidate &&
         store_.state() == StoreState::kReadWrite;
}

TuneResult TuningSession::measure_in_worker(const CanonicalProblem& problem,
                                            const TuneOptions& options) {
  TuneResult result;
  try {
    result = worker_->tune(key_of(problem), options);
  } catch (const std::system_error& error) {
    log_warning(std::string("no worker can be started, candidates run in this process: ") +
                error.what());
    worker_.reset();
    return tune_alone(problem, options, LookUp::kNeeded, 0);
  }
  if (result.kind == TuneResult::Kind::kFailed) {
    result.tuning.trials = store_.trials(key_of(problem));
    return result;
  }
  store_.refresh();  // the cached winner may be the one that the worker has replaced
  const bool may_be_older = options.force && result.is_unsaved;
  result.record = may_be_older ? std::nullopt : find_tuned(problem, options);
  if (!result.record && !may_be_older) {
    auto hit = store_.find(key_of(problem), device_.limits());
    if (hit && hit->match == Match::kExact) {
      result.record = std::move(hit->record);
    }
  }
  if (result.record) {
    result.is_unsaved = false;
    tuned_ += result.kind == TuneResult::Kind::kTuned ? 1 : 0;
    return result;
  }
  const std::string why = result.is_unsaved && !result.tuning.failure.empty()
                              ? ": " + result.tuning.failure
                              : std::string();
  result.kind = TuneResult::Kind::kFailed;
  result.tuning.failure =
      "the winner is not in the cache " + store_.path().string() +
      (result.is_unsaved
           ? ": it could not be stored, so the problem must be tuned again" + why
           : ", although the worker stored it; use tune-all of the library's own version");
  return result;
}

void TuningSession::warn_of_budget(const CanonicalProblem& problem, const TuneOptions& options) {
  const bool has_budget = options.budget.seconds > 0 || options.budget.candidates > 0;
  if (has_warned_ || !has_budget) {
    return;
  }
  const Backend& backend = device_.backend();
  const std::string why =
      why_too_small(search_limits_of(options.rigor, options.budget),
                    {.seconds_per_candidate = backend.usual_seconds_per_candidate(),
                     .launch_us = default_candidate(problem, device_.limits()).predicted_us,
                     .cool_down_seconds = backend.cool_down_seconds()});
  if (!why.empty()) {
    has_warned_ = true;
    log_warning(to_text(problem) + ": " + why);
  }
}

TuneResult TuningSession::measure(const CanonicalProblem& problem, const TuneOptions& options) {
  TuneResult result;
  try {
    const Device::Current current(device_);
    probe_.complete();
    // Without a next problem its threads end with the tuning.
    auto compiler = std::exchange(compiler_, nullptr);
    if (compiler == nullptr) {
      compiler = std::make_shared<CandidateCompiler>(device_, store_, &binaries_);
    }
    if (options.next) {
      compiler_ = compiler;
    }
    {
      DeviceEvaluator evaluator(device_, store_, problem, compiler,
                                options.in_background ? kBackgroundMemory : 1);
      std::optional<WatchedEvaluator> watched;
      if (options.in_worker()) {
        watched.emplace(evaluator, problem, options);
      }
      Evaluator& used = watched ? static_cast<Evaluator&>(*watched) : evaluator;
      result.tuning =
          tunedgemm::internal::tune(key_of(problem), device_.limits(), used, store_, options);
    }
    if (result.tuning.cancelled && (options.in_background || options.force)) {
      result.tuning.record.reset();
      result.tuning.failure = "cancelled before the tuning was complete";
    }
    if (result.tuning.record && !result.tuning.cancelled && options.rigor != Rigor::kModel) {
      choose_launch(device_, store_, options, result.tuning);
    }
  } catch (const DeviceError& error) {
    if (error.kind() == DeviceError::Kind::kLost) {
      throw;
    }
    // No candidate caused this error, so clear the mark of the running candidate. The caller can
    // compute the problem without a tuning.
    store_.clear_in_flight(key_of(problem));
    return failed(error.what());
  } catch (...) {  // a host failure, such as a thread that cannot be started
    store_.clear_in_flight(key_of(problem));
    throw;
  }
  if (!result.tuning.record) {
    return result;
  }
  PutResult put = store_.put(*result.tuning.record, result.tuning.winner_source,
                             result.tuning.winner_binary, result.tuning.trials,
                             options.force ? Replace::kAnyIfComplete : Replace::kLessThorough);
  keep_kernel_without_workspace(result.tuning);
  ++tuned_;
  result.kind = TuneResult::Kind::kTuned;
  result.record = std::move(put.winner);
  return result;
}

void TuningSession::keep_kernel_without_workspace(const Tuning& tuning) {
  const CanonicalProblem& problem = tuning.record->problem;
  const std::vector<Instance> fastest_first =
      measured_instances(problem, device_.limits(), tuning.trials);
  const auto other =
      std::find_if(fastest_first.begin(), fastest_first.end(),
                   [](const Instance& instance) { return !instance.launch.needs_workspace(); });
  const Candidate winner{find_family(tuning.record->family), tuning.record->config};
  const bool winner_needs_one =
      instantiate(problem, winner, device_.limits()).value().launch.needs_workspace();
  if (!winner_needs_one || other == fastest_first.end()) {
    return;
  }
  const Source source = other->source();
  if (const std::optional<Binary> binary = binaries_.find(fingerprint(source))) {
    store_.put_binary(source, device_.toolchain(), device_.limits().arch, *binary);
  }
}

}  // namespace tunedgemm::internal
