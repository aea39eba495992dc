#include "runtime/context/provisional_plans.h"

#include <algorithm>
#include <cstdint>

namespace tunedgemm::internal {

void ProvisionalPlans::add(const Plan& plan) {
  const std::scoped_lock lock(mutex_);
  plans_.push_back(&plan);
}

void ProvisionalPlans::note_calls() {
  const std::scoped_lock lock(mutex_);
  for (const Plan* plan : plans_) {
    note_calls_of(*plan);
  }
}

void ProvisionalPlans::note_calls_of(const Plan& plan) {
  if (const std::int64_t calls = plan.calls.exchange(0, std::memory_order_relaxed); calls > 0) {
    store_.note_request(plan.problem, device_.identity(), calls);
  }
}

bool ProvisionalPlans::replace(const Problem& canonical,
                               const std::function<const Plan*(const Plan&)>& make) {
  std::vector<const Plan*> old;
  {
    const std::scoped_lock lock(mutex_);
    const auto begin = std::partition(plans_.begin(), plans_.end(), [&](const Plan* plan) {
      return !(plan->problem == canonical);
    });
    old.assign(begin, plans_.end());
    plans_.erase(begin, plans_.end());
  }
  std::vector<const Plan*> kept;
  for (const Plan* plan : old) {
    if (const Plan* successor = make(*plan)) {
      plan->successor.store(successor, std::memory_order_release);
      note_calls_of(*plan);
    } else {
      kept.push_back(plan);
    }
  }
  const std::scoped_lock lock(mutex_);
  plans_.insert(plans_.end(), kept.begin(), kept.end());
  return kept.empty();
}

}  // namespace tunedgemm::internal
