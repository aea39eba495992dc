#pragma once

// RecordingEvaluator: passes everything on to a real evaluator and writes down what it says, for
// ReplayEvaluator to say again.

#include "tuner/recorded_run.h"

namespace tunedgemm::internal {

/// Trials refer to the evaluator and must not outlive it, nor it the one that it records. Used by
/// one thread.
class RecordingEvaluator final : public Evaluator {
 public:
  RecordingEvaluator(Evaluator& recorded, const Problem& problem);

  void set_compile_deadline(double seconds) override { recorded_.set_compile_deadline(seconds); }
  void compile_ahead(std::span<const Instance> candidates) override;
  int compile_batch() const override { return recorded_.compile_batch(); }
  Prepared prepare(const Instance& instance) override;
  void warm_up() override;
  double cool_down_seconds() const override { return recorded_.cool_down_seconds(); }
  void cool_down(double seconds) override { recorded_.cool_down(seconds); }
  Clock clock() override;
  double now_seconds() override { return recorded_.now_seconds(); }
  double roofline_us() const override { return recorded_.roofline_us(); }

  const RecordedRun& run() const { return run_; }

 private:
  class WitnessedTrial;

  Evaluator& recorded_;
  RecordedRun run_;
};

}  // namespace tunedgemm::internal
