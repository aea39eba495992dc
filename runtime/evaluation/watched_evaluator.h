#pragma once

// WatchedEvaluator: reports the running candidate. If this process ends or hangs, the process that
// started it as a worker knows which candidate failed.

#include "tuner/evaluator.h"
#include "tuner/tune.h"

namespace tunedgemm::internal {

/// Forwards all calls to `watched`, which must outlive this evaluator. This evaluator must outlive
/// its trials. Used by one thread.
class WatchedEvaluator final : public Evaluator {
 public:
  /// Calls `options.on_candidate`. Precondition: options.in_worker().
  WatchedEvaluator(Evaluator& watched, const Problem& problem, const TuneOptions& options);

  void set_compile_deadline(double seconds) override { watched_.set_compile_deadline(seconds); }
  void compile_ahead(std::span<const Instance> candidates) override {
    watched_.compile_ahead(candidates);
  }
  void compile_next(std::span<const Instance> candidates) override {
    watched_.compile_next(candidates);
  }
  bool is_compiled(const Instance& candidate) override { return watched_.is_compiled(candidate); }
  void forget(const Instance& candidate) override { watched_.forget(candidate); }
  int compile_batch() const override { return watched_.compile_batch(); }
  Prepared prepare(const Instance& instance) override;
  void warm_up() override { watched_.warm_up(); }
  void cool_down(double seconds) override { watched_.cool_down(seconds); }
  double cool_down_seconds() const override { return watched_.cool_down_seconds(); }
  Clock clock() override { return watched_.clock(); }
  std::string neighbour() override { return watched_.neighbour(); }
  double now_seconds() override { return watched_.now_seconds(); }
  double roofline_us() const override { return watched_.roofline_us(); }

 private:
  class WatchedTrial;

  Evaluator& watched_;
  const TuneOptions& options_;
  double filling_seconds_;
};

/// The time limit for filling the operands and computing the expected result in the first check.
double filling_seconds(const Problem& problem);

/// The time after which a candidate with this many launches counts as hung.
double seconds_until_hung(const TuneOptions& options, const Instance& instance, int launches);

/// Reports to options.on_candidate that the candidate is running, from the constructor to the
/// destructor.
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
