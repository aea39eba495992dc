#pragma once

// TuningWorker: the process that tunes for this one (worker_process.h), as this one sees it. A
// candidate that crashes, hangs or breaks the device costs that process: it is recorded, and another
// one goes on.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/store.h"
#include "runtime/device.h"
#include "runtime/host/child_process.h"
#include "runtime/host/private_folder.h"
#include "runtime/tuning/tuning_session.h"
#include "runtime/worker_conversation.h"
#include "runtime/worker_process.h"

namespace tunedgemm::internal {

/// Used by one thread at a time. The store, whose file the worker opens, must outlive it.
class TuningWorker {
 public:
  /// `command` starts a worker, up to kBeWorker; it is started when it is first needed.
  TuningWorker(std::vector<std::string> command, const WorkerPlace& place, Store& store);
  ~TuningWorker();
  TuningWorker(const TuningWorker&) = delete;
  TuningWorker& operator=(const TuningWorker&) = delete;

  /// After so many workers that ended while they tuned a problem it is given up.
  static constexpr int kMostWorkers = 8;

  /// Has the canonical problem tuned. The record is not in the result: it is in the store. Nobody
  /// may hold the problem's lease here. Throws std::system_error if no worker can be started, and
  /// DeviceError if it cannot open the device, or as tuning does.
  TuneResult tune(const Problem& problem, const TuneOptions& options, const DeviceIdentity& device,
                  const Toolchain& toolchain);

 private:
  /// How a worker was lost.
  struct Loss {
    std::string failure;
    bool is_from_outside = false;
  };

  void start();
  /// Empty if it came to a result; else the worker has gone.
  std::optional<Loss> talk(const Problem& problem, const TuneOptions& options,
                           WorkerConversation& conversation);
  /// Says in the store and the log who cost the worker.
  void blame(const Problem& problem, const std::string& at_work, const Loss& loss,
             const DeviceIdentity& device, const Toolchain& toolchain);

  std::vector<std::string> command_;
  Store& store_;
  /// For the temporary files of the worker, which are removed however it ends.
  std::optional<PrivateFolder> folder_;
  std::unique_ptr<TalkingChild> child_;  ///< null until it is needed, and when it has gone
};

}  // namespace tunedgemm::internal
