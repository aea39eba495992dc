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
  const double asked = evaluator_.now_seconds();
  cancelled_ = ask_();
  const double answered = evaluator_.now_seconds();
  begin_ += answered - asked;
  end_ += answered - asked;
  if (cancelled_) {
    end_ = std::min(end_, answered + kGraceSeconds);
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
