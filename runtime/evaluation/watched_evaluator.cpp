#include "runtime/evaluation/watched_evaluator.h"

#include <exception>
#include <utility>

namespace tunedgemm::internal {
namespace {

constexpr double kCandidateSeconds = 30;
// A launch may take this many times the cost model's estimate before the candidate counts as hung.
// The factor covers errors of the model and a busy machine.
constexpr double kMostTimesPredicted = 20;
constexpr double kFilledBytesPerSecond = 50e6;

}  // namespace

double filling_seconds(const Problem& problem) {
  return minimum_bytes(problem) / kFilledBytesPerSecond;
}

double seconds_until_hung(const TuneOptions& options, const Instance& instance, int launches) {
  const double base = options.candidate_seconds > 0 ? options.candidate_seconds : kCandidateSeconds;
  return base + kMostTimesPredicted * launches * instance.predicted_us * 1e-6;
}

AtWork::AtWork(const TuneOptions& options, const Candidate& candidate, double seconds)
    : options_(options), exceptions_(std::uncaught_exceptions()) {
  options_.on_candidate(&candidate, seconds);
}

// After an exception, such as the loss of the device, the candidate stays reported.
AtWork::~AtWork() {
  if (std::uncaught_exceptions() == exceptions_) {
    options_.on_candidate(nullptr, 0);
  }
}

class WatchedEvaluator::WatchedTrial final : public Trial {
 public:
  WatchedTrial(std::unique_ptr<Trial> trial, const WatchedEvaluator& evaluator, Instance instance)
      : trial_(std::move(trial)), evaluator_(evaluator), instance_(std::move(instance)) {}

  const Binary& binary() const override { return trial_->binary(); }

  std::variant<double, Rejection> check() override {
    const AtWork at_work(
        evaluator_.options_, instance_.candidate,
        seconds_until_hung(evaluator_.options_, instance_, 1) + evaluator_.filling_seconds_);
    return trial_->check();
  }

  std::variant<double, Rejection> sample(int launches) override {
    const AtWork at_work(evaluator_.options_, instance_.candidate,
                         seconds_until_hung(evaluator_.options_, instance_, launches + 1));
    return trial_->sample(launches);
  }

 private:
  std::unique_ptr<Trial> trial_;
  const WatchedEvaluator& evaluator_;
  Instance instance_;
};

WatchedEvaluator::WatchedEvaluator(Evaluator& watched, const Problem& problem,
                                   const TuneOptions& options)
    : watched_(watched), options_(options), filling_seconds_(filling_seconds(problem)) {}

// kCompiledAndLoaded is longer than the compiler's own timeout, and leaves time for loading.
Prepared WatchedEvaluator::prepare(const Instance& instance) {
  constexpr double kCompiledAndLoaded = 600;
  const AtWork at_work(options_, instance.candidate,
                       seconds_until_hung(options_, instance, 0) + kCompiledAndLoaded);
  Prepared prepared = watched_.prepare(instance);
  if (auto* trial = std::get_if<std::unique_ptr<Trial>>(&prepared)) {
    return std::make_unique<WatchedTrial>(std::move(*trial), *this, instance);
  }
  return prepared;
}

}  // namespace tunedgemm::internal
