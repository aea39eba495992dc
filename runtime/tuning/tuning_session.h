#pragma once

// TuningSession: tunes on a context's device, one problem at a time.
//
// Thread-safe. tune() runs on one thread at a time, because concurrent tunings would distort each
// other's times. The problem's lease excludes other processes. Device and store must outlive the
// session. A tuning uses its own stream and its own memory, and frees the memory at its end.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>

#include "cache/store.h"
#include "runtime/device.h"
#include "runtime/evaluation/candidate_compiler.h"
#include "runtime/tuning/device_probe.h"
#include "tuner/tune.h"

namespace tunedgemm::internal {

/// The result of TuningSession::tune.
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
};

/// Whether a tuning with these options would change nothing: the winner has the device's toolchain
/// and at least the rigor of the options. In addition, its tuning was complete, or spent at least
/// half the budget of the options, or had a higher rigor and tried at least as many candidates as
/// the options allow.
bool suffices(const Hit& hit, const TuneOptions& options);

class TuningWorker;

class TuningSession {
 public:
  /// Problems are tuned in the worker's process if the store has a file that both processes can
  /// use, and the options name no default. If `worker` is null, they are tuned in this process.
  /// `shared_binaries`: see BinaryCache.
  TuningSession(Device& device, Store& store, std::unique_ptr<TuningWorker> worker,
                const std::filesystem::path& shared_binaries);
  ~TuningSession();
  TuningSession(const TuningSession&) = delete;
  TuningSession& operator=(const TuningSession&) = delete;

  /// The stored winner that makes tune() unnecessary (see suffices()). May compile one kernel
  /// (renewed()).
  std::optional<Record> find_tuned(const CanonicalProblem& problem, const TuneOptions& options);

  /// A winner whose kernel template has changed, if the new template compiles to the same machine
  /// code. Its row then moves to the new template. Compiles at most one kernel. Throws DeviceError.
  std::optional<Hit> renewed(const CanonicalProblem& problem);

  /// How long a tuning waits for another process that is tuning the same problem.
  static constexpr double kLeaseWaitSeconds = 60;

  /// Returns the winner of find_tuned() if there is one. Else tunes the problem and stores the
  /// winner. Throws DeviceError.
  TuneResult tune(const CanonicalProblem& problem, const TuneOptions& options,
                  double lease_wait_seconds = kLeaseWaitSeconds);
  /// Like tune(), for a problem for which the caller has just found no winner. Looks again only if
  /// a winner may have been stored meanwhile. `tuned_before` is the value of tuned() before the
  /// caller's look-up; the lease reports winners of other processes. Logs a warning, once, if the
  /// budget is too small to decide.
  TuneResult tune_missing(const CanonicalProblem& problem, const TuneOptions& options,
                          std::int64_t tuned_before);

  /// See DeviceProbe::complete; a tuning calls it first.
  void complete_probe() { probe_.complete(); }

  /// The number of tunings in this session that found a winner.
  std::int64_t tuned() const { return tuned_; }

 private:
  TuningKey key_of(const CanonicalProblem& problem) const;
  enum class LookUp { kNeeded, kDone };
  /// Precondition: tuning_mutex_ is held.
  TuneResult tune_alone(const CanonicalProblem& problem, const TuneOptions& options, LookUp look_up,
                        double lease_wait_seconds);
  /// Logs a warning, once, if the budget is too small to decide. Precondition: tuning_mutex_ is
  /// held.
  void warn_of_budget(const CanonicalProblem& problem, const TuneOptions& options);
  TuneResult measure(const CanonicalProblem& problem, const TuneOptions& options);
  /// Precondition: this process does not hold the lease.
  TuneResult measure_in_worker(const CanonicalProblem& problem, const TuneOptions& options);
  /// If the winner needs a workspace, also stores the fastest kernel that needs none. That kernel
  /// runs when there is no memory for a workspace.
  void keep_kernel_without_workspace(const Tuning& tuning);
  bool can_use_worker(const TuneOptions& options) const;

  Device& device_;
  Store& store_;
  DeviceProbe probe_;
  BinaryCache binaries_;
  std::shared_ptr<class CandidateCompiler> compiler_;  ///< compiles for TuneOptions::next, or null
  std::mutex tuning_mutex_;
  bool has_warned_ = false;
  std::unique_ptr<TuningWorker> worker_;
  std::atomic<std::int64_t> tuned_{0};
};

}  // namespace tunedgemm::internal
