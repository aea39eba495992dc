#pragma once

// TimeBudget: the time that a tuning has left. None is left when the budget is spent, or when the
// user cancels.

#include <functional>

#include "tuner/evaluator.h"

namespace tunedgemm::internal {

/// Used by one thread. Refers to the evaluator, which provides the time.
class TimeBudget {
 public:
  /// A tuning that is out of time still gets this long for its finals, so that it ends with a
  /// measured winner.
  static constexpr double kGraceSeconds = 0.25;

  TimeBudget(Evaluator& evaluator, double seconds, std::function<bool()> cancelled);

  /// Asks whether the user has cancelled, and remembers a yes. After cancellation only the grace
  /// period is left. The time in the user's callback does not count.
  bool cancelled();
  double seconds_left();
  double seconds_spent();

  /// Extends the budget so that at least the grace period is left.
  void grant_grace();

 private:
  Evaluator& evaluator_;
  std::function<bool()> ask_;
  bool cancelled_ = false;
  double begin_ = 0;
  double end_ = 0;
};

/// Adds its lifetime in seconds to `total`.
class [[nodiscard]] Stopwatch {
 public:
  Stopwatch(Evaluator& evaluator, double& total)
      : evaluator_(evaluator), total_(total), begin_(evaluator.now_seconds()) {}
  ~Stopwatch() { total_ += evaluator_.now_seconds() - begin_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  Evaluator& evaluator_;
  double& total_;
  double begin_;
};

}  // namespace tunedgemm::internal
