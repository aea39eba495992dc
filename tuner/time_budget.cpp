#include "tuner/time_budget.h"

#include <algorithm>
#include <utility>

namespace tunedgemm::internal {

TimeBudget::TimeBudget(Evaluator& evaluator, double seconds, std::function<bool()> cancelled)
    : evaluator_(evaluator),
      ask_(std::move(cancelled)),
      begin_(evaluator.now_seconds()),
      end_(begin_ + seconds) {}

bool TimeBudget::cancelled() {
  if (cancelled_ || !ask_) {
    return cancelled_;
  }
  const double before = evaluator_.now_seconds();
  cancelled_ = ask_();
  const double after = evaluator_.now_seconds();
  begin_ += after - before;
  end_ += after - before;
  if (cancelled_) {
    end_ = std::min(end_, after + kGraceSeconds);
  }
  return cancelled_;
}

double TimeBudget::seconds_left() {
  return end_ - evaluator_.now_seconds();
}

double TimeBudget::seconds_spent() {
  return evaluator_.now_seconds() - begin_;
}

void TimeBudget::grant_grace() {
  end_ = std::max(end_, evaluator_.now_seconds() + kGraceSeconds);
}

}  // namespace tunedgemm::internal
