#include "tuner/replay.h"

#include <algorithm>

namespace tunedgemm::internal {

class ReplayEvaluator::RecordedTrial final : public Trial {
 public:
  RecordedTrial(const RecordedCandidate& recorded, std::size_t& next_sample, double& now_seconds)
      : recorded_(recorded), next_sample_(next_sample), now_seconds_(now_seconds) {
    binary_.entry = recorded.candidate.substr(0, recorded.candidate.find(' '));
    binary_.registers = recorded.registers;
    binary_.shared_bytes = recorded.shared_bytes;
    binary_.spill_bytes = recorded.spill_bytes;
    binary_.compile_ms = recorded.compile_ms;
  }

  const Binary& binary() const override { return binary_; }

  std::variant<double, Rejection> check() override {
    now_seconds_ += recorded_.check_seconds;
    if (failed_at(RecordedCandidate::Stage::kCheck)) {
      return recorded_.failure->rejection;
    }
    return recorded_.error;
  }

  std::variant<double, Rejection> sample(int launches) override {
    const bool fails = failed_at(RecordedCandidate::Stage::kSample);
    if (fails && next_sample_ == recorded_.samples.size()) {
      return recorded_.failure->rejection;
    }
    if (recorded_.samples.empty()) {
      return Rejection{Reason::kTimedOut, "no sample was recorded"};
    }
    const RecordedSample& sample = recorded_.samples[next_sample_ % recorded_.samples.size()];
    ++next_sample_;
    // One more launch than is timed: see Trial::sample.
    now_seconds_ += sample.seconds * (launches + 1) / (sample.launches + 1);
    return sample.us;
  }

 private:
  bool failed_at(RecordedCandidate::Stage stage) const {
    return recorded_.failure && recorded_.failure->stage == stage;
  }

  const RecordedCandidate& recorded_;
  std::size_t& next_sample_;
  double& now_seconds_;
  Binary binary_;
};

ReplayEvaluator::ReplayEvaluator(const RecordedRun& run) : run_(run) {
  for (const RecordedCandidate& candidate : run.candidates) {
    candidates_.emplace(candidate.candidate, &candidate);
  }
}

void ReplayEvaluator::compile_ahead(std::span<const Instance> candidates) {
  const double share = static_cast<double>(candidates.size()) /
                       static_cast<double>(std::max<std::size_t>(1, run_.candidates.size()));
  now_seconds_ += run_.ahead_seconds * share;
}

Prepared ReplayEvaluator::prepare(const Instance& instance) {
  const auto found = candidates_.find(to_text(instance.candidate));
  if (found == candidates_.end()) {
    return Rejection{Reason::kCompileFailed, "not in the recorded run"};
  }
  const RecordedCandidate& recorded = *found->second;
  now_seconds_ += recorded.prepare_seconds;
  if (recorded.failure && recorded.failure->stage == RecordedCandidate::Stage::kPrepare) {
    return recorded.failure->rejection;
  }
  return std::make_unique<RecordedTrial>(recorded, next_sample_[found->first], now_seconds_);
}

Evaluator::Clock ReplayEvaluator::clock() {
  if (run_.clocks.empty()) {
    return {};
  }
  return run_.clocks[std::min(next_clock_++, run_.clocks.size() - 1)];
}

}  // namespace tunedgemm::internal
