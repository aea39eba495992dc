#include "runtime/tuning/worker_tuner.h"

#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "kernel_templates/base/log.h"

namespace tunedgemm::internal {

WorkerTuner::WorkerTuner(Store& store, StoredWinners& winners, std::unique_ptr<TuningWorker> worker,
                         std::unique_ptr<Tuner> in_process)
    : store_(store),
      winners_(winners),
      worker_(std::move(worker)),
      in_process_(std::move(in_process)) {}

TuneResult WorkerTuner::tune(const CanonicalProblem& problem, const TuneOptions& options,
                             double lease_wait_seconds) {
  const bool has_common_file = store_.state() == StoreState::kReadWrite;
  if (worker_ == nullptr || options.default_candidate || !has_common_file) {
    return in_process_->tune(problem, options, lease_wait_seconds);
  }
  TuneResult result;
  try {
    result = worker_->tune(winners_.key_of(problem), options);
  } catch (const std::system_error& error) {
    log_warning(std::string("no worker can be started, candidates run in this process: ") +
                error.what());
    worker_.reset();
    return in_process_->tune(problem, options, 0);
  }
  if (result.kind == TuneResult::Kind::kFailed) {
    result.tuning.trials = store_.trials(winners_.key_of(problem));
    return result;
  }
  store_.refresh();  // the cached winner may be the one that the worker has replaced
  const bool may_be_older = options.force && result.is_unsaved;
  std::optional<Hit> hit = may_be_older ? std::nullopt : winners_.find(problem);
  if (hit && hit->match == Match::kExact) {
    result.record = std::move(hit->record);
    result.is_unsaved = false;
    return result;
  }
  const std::string why = result.is_unsaved && !result.tuning.failure.empty()
                              ? ": " + result.tuning.failure
                              : std::string();
  result.kind = TuneResult::Kind::kFailed;
  result.tuning.failure =
      "the winner is not in the cache " + store_.path().string() +
      (result.is_unsaved
           ? ": it could not be stored, so the problem must be tuned again" + why
           : ", although the worker stored it; use tune-all of the library's own version");
  return result;
}

}  // namespace tunedgemm::internal
