#pragma once

// TuningWorker: the process that tunes for this one (worker_process.h), as this one sees it. A
// candidate that crashes, hangs or breaks the device costs that process: it is recorded, and another
// one goes on.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/store.h"
#include "runtime/process/child_process.h"
#include "runtime/process/private_folder.h"
#include "runtime/process/worker_conversation.h"
#include "runtime/process/worker_process.h"
#include "runtime/tuning/tuning_session.h"

namespace tunedgemm::internal {

/// Used by one thread at a time. The store, whose file the worker opens, must outlive it.
class TuningWorker {
 public:
  /// A worker is lost after this time beside twice the budget, whatever it does: a device is opened,
  /// a lease waited for, a compiler waited for on a starved machine.
  static constexpr std::chrono::seconds kPatience{120};
  /// After so many workers that ended while they tuned a problem it is given up.
  static constexpr int kMostWorkers = 8;

  /// `command` starts a worker, up to kWorkerFlag; it is started when it is first needed.
  TuningWorker(std::vector<std::string> command, const WorkerPlace& place, Store& store,
               std::chrono::milliseconds patience = kPatience);
  /// Ends the worker, which has a second to store what it could not store before.
  ~TuningWorker();
  TuningWorker(const TuningWorker&) = delete;
  TuningWorker& operator=(const TuningWorker&) = delete;

  /// Has the key's problem, which is canonical, tuned on its device. The record is not in the result: it is in the store. Nobody
  /// may hold the problem's lease here. Throws std::system_error if the command starts no worker,
  /// and DeviceError if it cannot open the device, or as tuning does.
  TuneResult tune(const TuningKey& key, const TuneOptions& options);

 private:
  enum class Cause { kCandidate, kOutside, kTimeLimit };
  /// How a worker was lost.
  struct Loss {
    std::string failure;
    Cause cause = Cause::kCandidate;
  };

  void start();
  /// Empty if it came to a result; else the worker has gone.
  std::optional<Loss> talk(const Problem& problem, const TuneOptions& options,
                           WorkerConversation& conversation);
  /// Says in the store and the log which candidate cost the worker.
  void record_loss(const TuningKey& key, const std::string& at_work, const Loss& loss);

  std::vector<std::string> command_;
  Store& store_;
  std::chrono::milliseconds patience_;
  /// For the temporary files of the worker, which are removed however it ends.
  std::optional<PrivateFolder> folder_;
  std::unique_ptr<ChildProcess> child_;  ///< null until it is needed, and when it has gone
};

}  // namespace tunedgemm::internal
