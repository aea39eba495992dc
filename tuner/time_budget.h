#pragma once

// TimeBudget: how much time a tuning still has. The budget ends it, and so does the user.

#include <functional>

#include "tuner/evaluator.h"

namespace tunedgemm::internal {

/// Used by one thread. Keeps a reference to the evaluator, whose time it goes by.
class TimeBudget {
 public:
  /// Even a tuning that is out of time gets this long for its finals, so that it ends with a
  /// measured winner.
  static constexpr double kGraceSeconds = 0.25;

  TimeBudget(Evaluator& evaluator, double seconds, std::function<bool()> cancelled);

  /// Asks whether the user has cancelled, and remembers it. From then on only the grace is left.
  /// The time that the answer takes does not count.
  bool cancelled();
  double seconds_left();
  double seconds_spent();

  /// Sees to it that at least the grace is left from now on.
  void grant_grace();

 private:
  Evaluator& evaluator_;
  std::function<bool()> ask_;
  bool cancelled_ = false;
  double begin_ = 0;
  double end_ = 0;
};

/// Adds the seconds that it lives to `total`.
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
