#pragma once

// Tuner: tunes one problem on a context's device, in this process (in_process_tuner.h) or in a
// worker's (worker_tuner.h).

#include <optional>
#include <string>
#include <utility>

#include "cache/record.h"
#include "tuner/tune.h"

namespace tunedgemm::internal {

/// The result of Tuner::tune and TuningSession::tune.
struct TuneResult {
  enum class Kind {
    kTuned,      ///< measured now
    kCached,     ///< the cache had a winner of sufficient rigor; nothing was measured
    kElsewhere,  ///< another process tuned the problem meanwhile
    kFailed,     ///< there is no winner; tuning.failure says why
  };
  Kind kind = Kind::kFailed;
  std::optional<Record> record;
  Tuning tuning;  ///< complete only if measured now in this process; `failure` is always valid
  /// Failed because another process held the problem's lease for the whole wait.
  bool is_leased_elsewhere = false;
  /// Failed because a worker could not store the winner. The worker will try to store it again.
  bool is_unsaved = false;

  static TuneResult failed(std::string reason) {
    TuneResult result;
    result.tuning.failure = std::move(reason);
    return result;
  }
};

/// Used by one thread at a time.
class Tuner {
 public:
  Tuner() = default;
  virtual ~Tuner() = default;
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  /// Tunes the problem and stores the winner. Waits up to `lease_wait_seconds` for another process
  /// that is tuning it, and returns that process's winner if it suffices(). Throws DeviceError.
  virtual TuneResult tune(const CanonicalProblem& problem, const TuneOptions& options,
                          double lease_wait_seconds) = 0;
  /// Ends the compilations for TuneOptions::next, if that problem will not be tuned after all.
  /// Waits for those in progress. Thread-safe, also during tune().
  virtual void drop_next() = 0;
};

}  // namespace tunedgemm::internal
