#pragma once

// TuningWorker: the caller's side of a worker process (worker_process.h). A candidate that crashes,
// hangs or breaks the device costs only the worker. The crash is recorded, and the next worker
// continues.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/store.h"
#include "runtime/process/child_process.h"
#include "runtime/process/private_folder.h"
#include "runtime/tuning/tuner.h"
#include "runtime/tuning/worker_conversation.h"

namespace tunedgemm::internal {

/// Used by one thread at a time. The store, whose file the worker also opens, must outlive this
/// object.
class TuningWorker {
 public:
  /// The time limit of a tuning is 2 * (budget + filling_seconds()) + kSlack. The slack covers
  /// opening the device, waiting for a lease, and slow compilation on an overloaded machine.
  static constexpr std::chrono::seconds kSlack{120};
  /// The tuning of a problem fails after this many lost workers.
  static constexpr int kMostWorkers = 8;

  /// `command` is the program and its arguments up to and including kWorkerFlag. The first tune()
  /// starts the worker.
  TuningWorker(std::vector<std::string> command, const WorkerPlace& place, Store& store,
               std::chrono::milliseconds slack = kSlack);
  /// Ends the worker, but first gives it one second to store its unsaved winners.
  ~TuningWorker();
  TuningWorker(const TuningWorker&) = delete;
  TuningWorker& operator=(const TuningWorker&) = delete;

  /// Tunes the key's problem on the key's device. The worker puts the record into the store; the
  /// result has no record. Precondition: this process does not hold the key's lease, because the
  /// worker takes it. Throws std::system_error if the command does not start a worker. Throws
  /// DeviceError if the worker cannot open the device, or if it reports a DeviceError that it
  /// survives.
  TuneResult tune(const TuningKey& key, const TuneOptions& options);

 private:
  enum class Cause { kCandidate, kOutside, kTimeLimit };
  /// Why a worker was lost.
  struct Loss {
    std::string failure;
    Cause cause = Cause::kCandidate;
  };

  void start();
  /// Empty if the worker sent a result; else the worker is lost.
  std::optional<Loss> talk(const CanonicalProblem& problem, const TuneOptions& options,
                           WorkerConversation& conversation);
  /// Stores and logs which candidate was running when the worker was lost.
  void record_loss(const TuningKey& key, const std::string& at_work, const Loss& loss);

  std::vector<std::string> command_;
  Store& store_;
  std::chrono::milliseconds slack_;
  /// The folder of the worker's temporary files, which this process removes even if the worker
  /// crashes.
  std::optional<PrivateFolder> folder_;
  std::unique_ptr<ChildProcess> child_;  ///< the worker; null before its start and after its loss
};

}  // namespace tunedgemm::internal
