#include "runtime/tuning/tuning_session.h"

#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "kernel_templates/base/log.h"
#include "runtime/backend.h"
#include "runtime/evaluation/device_evaluator.h"
#include "runtime/evaluation/launch_race.h"
#include "runtime/evaluation/watched_evaluator.h"
#include "runtime/process/tuning_worker.h"
#include "tuner/crashes.h"
#include "tuner/remark.h"
#include "tuner/search_limits.h"

namespace tunedgemm::internal {
namespace {

// Of a budget that ended before all candidates were tried: the same budget again would only go on
// where the cost model expects less and less.
constexpr double kShareThatIsEnough = 0.5;
// For the compilation that tells whether a winner still counts.
constexpr double kRenewalSeconds = 30;
// More than the race of a winner's launches makes.
constexpr int kLaunchesOfRace = 100'000;

TuneResult failed(std::string reason) {
  TuneResult result;
  result.tuning.failure = std::move(reason);
  return result;
}

// Gives the winner the launch that suits it behind another kernel of this library, in what the
// budget has left. For isolated launches that changes nothing that was measured.
void choose_launch(Device& device, Store& store, const TuneOptions& options, Tuning& tuning) {
  Record& record = *tuning.record;
  const TuningKey key{record.problem, record.device, record.toolchain};
  const Candidate candidate{find_family(record.family), record.config};
  const Instance winner = instantiate(record.problem, candidate, device.limits()).value();
  const LaunchRaceBudget budget{
      .seconds = search_limits_of(options.rigor, options.budget).seconds - record.spent_seconds,
      .cancelled = options.cancelled};
  std::optional<AtWork> at_work;
  if (options.on_candidate) {
    at_work.emplace(options, candidate, seconds_until_hung(options, winner, kLaunchesOfRace));
  }
  if (options.crash_cost == CrashCost::kCaller) {
    const TrialRecord mark = race_mark(crashes_among(store.trials(key)));
    store.mark_in_flight(key, mark.family, mark.config, mark.family_fingerprint);
  }
  const LaunchRace race = fastest_launch(device, store, winner, tuning.winner_binary,
                                         record.measurement.median_us, budget);
  store.clear_in_flight(key);
  record.spent_seconds += race.seconds;
  const bool is_back_to_back = record.problem.launch_regime == LaunchRegime::kBackToBack;
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
  // What the others took was measured in another race.
  record.measurement = race.choice->back_to_back;
  record.default_us = record.runner_up_us = 0;
  record.ties.clear();
}

}  // namespace

TuningSession::TuningSession(Device& device, Store& store, std::unique_ptr<TuningWorker> worker)
    : device_(device), store_(store), probe_(device, store), worker_(std::move(worker)) {}

TuningSession::~TuningSession() = default;

TuningKey TuningSession::key_of(const Problem& problem) const {
  return {problem, device_.identity(), device_.toolchain()};
}

std::optional<Record> TuningSession::find_tuned(const Problem& problem,
                                                const TuneOptions& options) {
  auto hit = store_.find(key_of(problem), device_.limits());
  if (!hit) {
    hit = renewed(canonical(problem).problem);
  }
  if (!hit || hit->match != Match::kExact || hit->record.rigor < options.rigor) {
    return std::nullopt;
  }
  const Record& record = hit->record;
  const SearchLimits search_limits = search_limits_of(options.rigor, options.budget);
  const bool enough =
      record.complete || record.spent_seconds >= kShareThatIsEnough * search_limits.seconds ||
      (record.rigor > options.rigor && record.candidates_tried >= search_limits.candidates);
  return enough ? std::optional(std::move(hit->record)) : std::nullopt;
}

std::optional<Hit> TuningSession::renewed(const Problem& canonical) {
  auto outdated = store_.find_outdated(key_of(canonical), device_.limits());
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
    // Whatever comes of the comparison, nobody compiles this again.
    store_.put_binary(source, device_.toolchain(), architecture, *now);
  }
  if (now->code != outdated->binary.code) {
    return std::nullopt;
  }
  store_.renew(*outdated);
  log_info("the template of " + to_text(outdated->hit.winner.candidate) +
           " has changed and its machine code has not: the winner of " + to_text(canonical) +
           " stays");
  return std::move(outdated->hit);
}

TuneResult TuningSession::tune(const Problem& problem, const TuneOptions& options,
                               double lease_wait_seconds) {
  const std::scoped_lock lock(one_at_a_time_);
  return tune_alone(canonical(problem).problem, options, Known::kNothing, lease_wait_seconds);
}

TuneResult TuningSession::tune_missing(const Problem& problem, const TuneOptions& options,
                                       std::int64_t tuned_before) {
  const std::scoped_lock lock(one_at_a_time_);
  warn_of_budget(problem, options);
  return tune_alone(problem, options, tuned_ == tuned_before ? Known::kMissing : Known::kNothing,
                    kLeaseWaitSeconds);
}

TuneResult TuningSession::tune_alone(const Problem& canonical, const TuneOptions& options,
                                     Known known, double lease_wait_seconds) {
  if (known == Known::kNothing) {
    if (auto record = find_tuned(canonical, options)) {
      return {.origin = TuneResult::Origin::kCached, .record = std::move(record), .tuning = {}};
    }
  }
  if (const std::string reason = device_.why_not_compile(); !reason.empty()) {
    return failed(reason);
  }
  Lease lease = store_.acquire(key_of(canonical), lease_wait_seconds);
  if (lease.winners_changed()) {
    if (auto record = find_tuned(canonical, options)) {
      return {.origin = TuneResult::Origin::kElsewhere, .record = std::move(record), .tuning = {}};
    }
  }
  if (!lease) {
    TuneResult busy =
        failed("another process has been tuning " + to_text(canonical) + " for more than " +
               std::to_string(static_cast<int>(lease_wait_seconds)) + " seconds");
    busy.is_leased_elsewhere = true;
    return busy;
  }
  if (can_use_worker(options)) {
    lease = Lease();  // the worker takes it
    return measure_in_worker(canonical, options);
  }
  return measure(canonical, options);
}

bool TuningSession::can_use_worker(const TuneOptions& options) const {
  return worker_ != nullptr && options.candidates.empty() && !options.default_candidate &&
         store_.health().state == StoreState::kReadWrite;
}

TuneResult TuningSession::measure_in_worker(const Problem& problem, const TuneOptions& options) {
  TuneResult result;
  try {
    result = worker_->tune(key_of(problem), options);
  } catch (const std::system_error& error) {
    log_warning(std::string("candidates run in this process: no worker can be started: ") +
                error.what());
    worker_.reset();
    return tune_alone(problem, options, Known::kNothing, 0);
  }
  if (result.origin == TuneResult::Origin::kFailed) {
    result.tuning.trials = store_.trials(key_of(problem));
    return result;
  }
  result.record = find_tuned(problem, options);
  if (!result.record) {  // what was found before is answered from memory until then
    { const Lease refresh = store_.acquire(key_of(problem), 0); }
    auto hit = store_.find(key_of(problem), device_.limits());
    if (hit && hit->match == Match::kExact) {
      result.record = std::move(hit->record);
    }
  }
  if (result.record) {
    result.is_unsaved = false;
    tuned_ += result.origin == TuneResult::Origin::kTuned ? 1 : 0;
    return result;
  }
  const std::string why = result.is_unsaved && !result.tuning.failure.empty()
                              ? ": " + result.tuning.failure
                              : std::string();
  result.origin = TuneResult::Origin::kFailed;
  result.tuning.failure =
      "the winner is not in the cache " + store_.path().string() +
      (result.is_unsaved ? ", where it could not be stored and will have to be tuned again" + why
                         : ", where the worker left it; use tune-all of the library's own version");
  return result;
}

void TuningSession::warn_of_budget(const Problem& problem, const TuneOptions& options) {
  const bool is_given = options.budget.seconds > 0 || options.budget.candidates > 0;
  if (has_warned_ || !is_given) {
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

TuneResult TuningSession::measure(const Problem& problem, const TuneOptions& options) {
  TuneResult result;
  try {
    const Device::Current current(device_);
    probe_.complete();
    {
      DeviceEvaluator evaluator(device_, store_, problem, &binaries_);
      std::optional<WatchedEvaluator> watched;
      if (options.on_candidate) {
        watched.emplace(evaluator, problem, options);
      }
      Evaluator& used = watched ? static_cast<Evaluator&>(*watched) : evaluator;
      result.tuning =
          tunedgemm::internal::tune(key_of(problem), device_.limits(), used, store_, options);
    }
    if (result.tuning.cancelled && options.must_be_whole) {
      result.tuning.record.reset();
    }
    if (result.tuning.record && !result.tuning.cancelled) {
      choose_launch(device_, store_, options, result.tuning);
    }
  } catch (const DeviceError& error) {
    if (error.kind() != DeviceError::Kind::kFailed) {  // then no candidate is to blame
      store_.clear_in_flight(key_of(problem));
    }
    // A problem too large to be tuned beside what the memory holds already can still be computed.
    if (error.kind() != DeviceError::Kind::kOutOfMemory) {
      throw;
    }
    return failed(error.what());
  } catch (...) {  // of the host, such as threads that cannot be started
    store_.clear_in_flight(key_of(problem));
    throw;
  }
  if (!result.tuning.record) {
    return result;
  }
  PutResult put = store_.put(*result.tuning.record, result.tuning.winner_source,
                             result.tuning.winner_binary, result.tuning.trials);
  ++tuned_;
  result.origin = TuneResult::Origin::kTuned;
  result.record = std::move(put.winner);
  return result;
}

}  // namespace tunedgemm::internal
