#pragma once

// TuningSession: what a context tunes on its device, one problem at a time.
//
// Any number of threads may use it; tune() lets one through and the others wait, since two that
// time at once would measure each other. The lease of the problem does the same among processes.
// Device and store must outlive it. Tuning works in memory and on a stream of its own, which it
// gives back at the end.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "cache/store.h"
#include "runtime/device.h"
#include "runtime/evaluation/candidate_compiler.h"
#include "runtime/tuning/device_probe.h"
#include "tuner/tune.h"

namespace tunedgemm::internal {

/// What TuningSession::tune did.
struct TuneResult {
  enum class Origin {
    kTuned,      ///< measured now
    kCached,     ///< the cache had a winner of at least this rigor: nothing was measured
    kElsewhere,  ///< another process tuned it meanwhile
    kFailed,     ///< no candidate was valid; tuning.failure says why
  };
  Origin origin = Origin::kFailed;
  std::optional<Record> record;
  Tuning tuning;  ///< empty unless measured now
  /// Failed since another process was tuning the problem all the time.
  bool is_leased_elsewhere = false;
  /// Failed since a worker could not store the winner, which it will try again.
  bool is_unsaved = false;
};

class TuningWorker;

class TuningSession {
 public:
  /// With a worker, problems are tuned in its process wherever the store has a file for both; null:
  /// in this one.
  TuningSession(Device& device, Store& store, std::unique_ptr<TuningWorker> worker);
  ~TuningSession();
  TuningSession(const TuningSession&) = delete;
  TuningSession& operator=(const TuningSession&) = delete;

  /// The winner with which tune() would answer without measuring: of this toolchain, of at least
  /// this rigor, and complete, or the result of a budget not much smaller than this one, or of a
  /// greater rigor and with as many candidates tried as this one would.
  std::optional<Record> find_tuned(const Problem& problem, const TuneOptions& options);

  /// A winner of a template that has changed since, if this device's compiler still makes the same
  /// machine code of it: then its row is renewed. Compiles one kernel at most; throws DeviceError.
  std::optional<Hit> renewed(const Problem& canonical);

  /// How long a tuning waits for another process that tunes the same problem.
  static constexpr double kLeaseWaitSeconds = 60;

  /// Makes sure that the store has a winner of at least this rigor, tuning if it must. Throws
  /// DeviceError.
  TuneResult tune(const Problem& problem, const TuneOptions& options,
                  double lease_wait_seconds = kLeaseWaitSeconds);
  /// The same for a canonical problem of which the caller has just seen that the store has no
  /// winner. Looks again only if a winner has come since: `tuned_before` is tuned() from before
  /// the caller looked, and the lease tells of other processes. The first budget too small to
  /// decide is told in the log.
  TuneResult tune_missing(const Problem& problem, const TuneOptions& options,
                          std::int64_t tuned_before);

  /// See DeviceProbe::complete; measuring does it first.
  void complete_probe() { probe_.complete(); }

  /// How many problems were tuned here.
  std::int64_t tuned() const { return tuned_; }

 private:
  TuningKey key_of(const Problem& problem) const;
  enum class Known { kNothing, kMissing };
  /// Precondition: one_at_a_time_ is held.
  TuneResult tune_alone(const Problem& canonical, const TuneOptions& options, Known known,
                        double lease_wait_seconds);
  /// In the log, before the time is spent; once. Precondition: one_at_a_time_ is held.
  void warn_of_budget(const Problem& problem, const TuneOptions& options);
  TuneResult measure(const Problem& problem, const TuneOptions& options);
  /// Precondition: nobody here holds the lease.
  TuneResult measure_in_worker(const Problem& problem, const TuneOptions& options);
  bool can_use_worker(const TuneOptions& options) const;

  Device& device_;
  Store& store_;
  DeviceProbe probe_;
  BinaryCache binaries_;
  std::mutex one_at_a_time_;
  bool has_warned_ = false;
  std::unique_ptr<TuningWorker> worker_;
  std::atomic<std::int64_t> tuned_{0};
};

}  // namespace tunedgemm::internal
