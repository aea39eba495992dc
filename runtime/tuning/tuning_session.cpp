#include "runtime/tuning/tuning_session.h"

#include <chrono>
#include <string>
#include <utility>

#include "kernel_templates/base/log.h"
#include "runtime/backend.h"
#include "tuner/search_limits.h"

namespace tunedgemm::internal {

TuningSession::TuningSession(Device& device, StoredWinners& winners, std::unique_ptr<Tuner> tuner)
    : device_(device), winners_(winners), tuner_(std::move(tuner)) {}

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
  // A worker looks again after its caller, because it may have opened the file only since then.
  if (look_up == LookUp::kNeeded && !options.force) {
    if (auto record = winners_.find_tuned(problem, options)) {
      return {.kind = TuneResult::Kind::kCached, .record = std::move(record), .tuning = {}};
    }
  }
  for (const std::string& reason :
       {device_.why_not_compile(), why_no_candidate(problem, device_.limits())}) {
    if (!reason.empty()) {
      return TuneResult::failed(reason);
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  TuneResult result = tuner_->tune(problem, options, lease_wait_seconds);
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  tuned_ += result.kind == TuneResult::Kind::kTuned ? 1 : 0;
  return result;
}

void TuningSession::warn_of_budget(const CanonicalProblem& problem, const TuneOptions& options) {
  const bool has_budget = options.budget.seconds > 0 || options.budget.candidates > 0;
  if (has_warned_ || !has_budget || !why_no_candidate(problem, device_.limits()).empty()) {
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

}  // namespace tunedgemm::internal
