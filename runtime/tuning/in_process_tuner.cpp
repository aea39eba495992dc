#include "runtime/tuning/in_process_tuner.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "runtime/evaluation/device_evaluator.h"
#include "runtime/evaluation/launch_race.h"
#include "runtime/evaluation/watched_evaluator.h"
#include "tuner/crashes.h"
#include "tuner/neighbours.h"
#include "tuner/remark.h"
#include "tuner/search_limits.h"

namespace tunedgemm::internal {
namespace {

// The fraction of the free memory that a background tuning may take.
constexpr double kBackgroundMemory = 0.1;
// An upper bound of the launches in launch_race.
constexpr int kMostLaunchesOfRace = 100'000;

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

InProcessTuner::InProcessTuner(Device& device, Store& store, StoredWinners& winners,
                               DeviceProbe& probe, const std::filesystem::path& shared_binaries)
    : device_(device),
      store_(store),
      winners_(winners),
      probe_(probe),
      binaries_(BinaryCache::kMostBytes, shared_binaries) {}

TuneResult InProcessTuner::tune(const CanonicalProblem& problem, const TuneOptions& options,
                                double lease_wait_seconds) {
  const Lease lease = store_.acquire(winners_.key_of(problem), lease_wait_seconds);
  // The caller has looked, but another process may have stored a winner before the lease was taken.
  if (lease.winners_changed() && !options.force) {
    if (auto record = winners_.find_tuned(problem, options)) {
      return {.kind = TuneResult::Kind::kElsewhere, .record = std::move(record), .tuning = {}};
    }
  }
  if (!lease) {
    TuneResult busy = TuneResult::failed(
        "another process has been tuning " + to_text(problem) + " for more than " +
        std::to_string(static_cast<int>(lease_wait_seconds)) + " seconds");
    busy.is_leased_elsewhere = true;
    return busy;
  }
  return measure(problem, options);
}

TuneResult InProcessTuner::measure(const CanonicalProblem& problem, const TuneOptions& options) {
  TuneResult result;
  try {
    const Device::Current current(device_);
    probe_.complete();
    // Without a next problem its threads end with the tuning.
    auto compiler = exchange_compiler(nullptr);
    if (compiler == nullptr) {
      compiler = std::make_shared<CandidateCompiler>(device_, store_, &binaries_);
    }
    if (options.next) {
      exchange_compiler(compiler);
    }
    {
      DeviceEvaluator evaluator(device_, store_, problem, compiler,
                                options.in_background ? kBackgroundMemory : 1);
      std::optional<WatchedEvaluator> watched;
      if (options.in_worker()) {
        watched.emplace(evaluator, problem, options);
      }
      Evaluator& used = watched ? static_cast<Evaluator&>(*watched) : evaluator;
      result.tuning = tunedgemm::internal::tune(winners_.key_of(problem), device_.limits(), used,
                                                store_, options);
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
    store_.clear_in_flight(winners_.key_of(problem));
    return TuneResult::failed(error.what());
  } catch (...) {  // a host failure, such as a thread that cannot be started
    store_.clear_in_flight(winners_.key_of(problem));
    throw;
  }
  if (!result.tuning.record) {
    return result;
  }
  PutResult put = store_.put(*result.tuning.record, result.tuning.winner_source,
                             result.tuning.winner_binary, result.tuning.trials,
                             options.force ? Replace::kAnyIfComplete : Replace::kLessThorough);
  keep_kernel_without_workspace(result.tuning);
  result.kind = TuneResult::Kind::kTuned;
  result.record = std::move(put.winner);
  return result;
}

std::shared_ptr<CandidateCompiler> InProcessTuner::exchange_compiler(
    std::shared_ptr<CandidateCompiler> compiler) {
  const std::scoped_lock lock(compiler_mutex_);
  return std::exchange(compiler_, std::move(compiler));
}

void InProcessTuner::keep_kernel_without_workspace(const Tuning& tuning) {
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
