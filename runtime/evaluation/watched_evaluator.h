#pragma once

// WatchedEvaluator: tells which candidate is at work, so that another process knows whom to blame
// when this one ends or is silent for too long.

#include "tuner/evaluator.h"
#include "tuner/tune.h"

namespace tunedgemm::internal {

/// Passes everything on to the evaluator of a problem, which must outlive it, and it its trials.
/// Used by one thread.
class WatchedEvaluator final : public Evaluator {
 public:
  /// Tells `options.on_candidate`, which must not be empty.
  WatchedEvaluator(Evaluator& watched, const Problem& problem, const TuneOptions& options);

  void set_compile_deadline(double seconds) override { watched_.set_compile_deadline(seconds); }
  void compile_ahead(std::span<const Instance> candidates) override {
    watched_.compile_ahead(candidates);
  }
  int compile_batch() const override { return watched_.compile_batch(); }
  Prepared prepare(const Instance& instance) override;
  void warm_up() override { watched_.warm_up(); }
  void cool_down(double seconds) override { watched_.cool_down(seconds); }
  double cool_down_seconds() const override { return watched_.cool_down_seconds(); }
  Clock clock() override { return watched_.clock(); }
  double now_seconds() override { return watched_.now_seconds(); }
  double roofline_us() const override { return watched_.roofline_us(); }

 private:
  class WatchedTrial;

  Evaluator& watched_;
  const TuneOptions& options_;
  double filling_seconds_;
};

/// How long the first check may fill the operands and compute the expected result.
double filling_seconds(const Problem& problem);

/// What a candidate may take for so many launches before it has hung.
double seconds_until_hung(const TuneOptions& options, const Instance& instance, int launches);

/// While it lives, options.on_candidate knows that the candidate is at work.
class [[nodiscard]] AtWork {
 public:
  AtWork(const TuneOptions& options, const Candidate& candidate, double seconds);
  ~AtWork();
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;

 private:
  const TuneOptions& options_;
  int exceptions_;
};

}  // namespace tunedgemm::internal
