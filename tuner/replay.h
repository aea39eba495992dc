#pragma once

// ReplayEvaluator: a device that only remembers. It says again what was recorded, and its clock
// goes as fast as the recorded one, so that decisions are tested on real numbers and in no time.

#include <string_view>
#include <unordered_map>

#include "tuner/recorded_run.h"

namespace tunedgemm::internal {

/// Trials refer to the evaluator and must not outlive it. The run must outlive both.
///
/// Samples come back in their order, from the first again after the last; a sample of another
/// number of launches than was recorded takes time in proportion. A candidate that is not in the
/// run is rejected as kCompileFailed.
class ReplayEvaluator final : public Evaluator {
 public:
  explicit ReplayEvaluator(const RecordedRun& run);
  explicit ReplayEvaluator(RecordedRun&&) = delete;

  void compile_ahead(std::span<const Instance> candidates) override;
  int compile_batch() const override { return run_.compile_batch; }
  Prepared prepare(const Instance& instance) override;
  void warm_up() override { now_seconds_ += run_.warm_up_seconds; }
  void cool_down(double seconds) override { now_seconds_ += seconds; }
  double cool_down_seconds() const override { return run_.cool_down_seconds; }
  Clock clock() override;
  double now_seconds() override { return now_seconds_; }
  double roofline_us() const override { return run_.roofline_us; }

 private:
  class RecordedTrial;

  const RecordedRun& run_;
  std::unordered_map<std::string_view, const RecordedCandidate*> candidates_;
  std::unordered_map<std::string_view, std::size_t> next_sample_;
  std::size_t next_clock_ = 0;
  double now_seconds_ = 0;
};

}  // namespace tunedgemm::internal
