#pragma once

// WorkerTuner: tunes in a worker's process, which takes the problem's lease.

#include <memory>

#include "cache/store.h"
#include "runtime/tuning/stored_winners.h"
#include "runtime/tuning/tuner.h"
#include "runtime/tuning/tuning_worker.h"

namespace tunedgemm::internal {

/// Store and winners must outlive it.
class WorkerTuner final : public Tuner {
 public:
  /// A problem goes to `in_process` if its options name a default, if the store has no file that
  /// both processes can use, or if no worker can be started. Only then `lease_wait_seconds` counts.
  WorkerTuner(Store& store, StoredWinners& winners, std::unique_ptr<TuningWorker> worker,
              std::unique_ptr<Tuner> in_process);

  TuneResult tune(const CanonicalProblem& problem, const TuneOptions& options,
                  double lease_wait_seconds) override;
  /// A worker ends its compilations with its next tuning.
  void drop_next() override { in_process_->drop_next(); }

 private:
  Store& store_;
  StoredWinners& winners_;
  std::unique_ptr<TuningWorker> worker_;  ///< null once none could be started
  std::unique_ptr<Tuner> in_process_;
};

}  // namespace tunedgemm::internal
