#pragma once

// TuningSession: tunes on a context's device, one problem at a time.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "runtime/device.h"
#include "runtime/tuning/stored_winners.h"
#include "runtime/tuning/tuner.h"

namespace tunedgemm::internal {

/// Thread-safe. tune() runs on one thread at a time, because concurrent tunings would distort each
/// other's times. Device and winners must outlive the session.
class TuningSession {
 public:
  TuningSession(Device& device, StoredWinners& winners, std::unique_ptr<Tuner> tuner);

  /// How long a tuning waits for another process that is tuning the same problem.
  static constexpr double kLeaseWaitSeconds = 60;

  /// Returns the winner of StoredWinners::find_tuned() if there is one. Else tunes the problem and
  /// stores the winner. Throws DeviceError.
  TuneResult tune(const CanonicalProblem& problem, const TuneOptions& options,
                  double lease_wait_seconds = kLeaseWaitSeconds);
  /// Like tune(), for a problem for which the caller has just found no winner. Looks again only if
  /// a winner may have been stored meanwhile. `tuned_before` is the value of tuned() before the
  /// caller's look-up; the lease reports winners of other processes. Logs a warning, once, if the
  /// budget is too small to decide.
  TuneResult tune_missing(const CanonicalProblem& problem, const TuneOptions& options,
                          std::int64_t tuned_before);

  /// See Tuner.
  void drop_next() { tuner_->drop_next(); }

  /// The number of tunings in this session that found a winner.
  std::int64_t tuned() const { return tuned_; }
  /// The time that its tunings took.
  double seconds() const { return seconds_; }

 private:
  enum class LookUp { kNeeded, kDone };
  /// Precondition: tuning_mutex_ is held.
  TuneResult tune_alone(const CanonicalProblem& problem, const TuneOptions& options, LookUp look_up,
                        double lease_wait_seconds);
  /// Logs a warning, once, if the budget is too small to decide. Precondition: tuning_mutex_ is
  /// held.
  void warn_of_budget(const CanonicalProblem& problem, const TuneOptions& options);

  Device& device_;
  StoredWinners& winners_;
  std::unique_ptr<Tuner> tuner_;
  std::mutex tuning_mutex_;
  bool has_warned_ = false;
  std::atomic<std::int64_t> tuned_{0};
  std::atomic<double> seconds_{0};
};

}  // namespace tunedgemm::internal
