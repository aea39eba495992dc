#include "runtime/context/provisional_plans.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

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

std::vector<Problem> ProvisionalPlans::problems() {
  const std::scoped_lock lock(mutex_);
  std::vector<Problem> problems;
  for (const Plan* plan : plans_) {
    if (std::find(problems.begin(), problems.end(), plan->problem) == problems.end()) {
      problems.push_back(plan->problem);
    }
  }
  return problems;
}

bool ProvisionalPlans::replace(const Problem& canonical,
                               const std::function<const Plan*(const Plan&)>& make) {
  const auto is_of_problem = [&](const Plan* plan) { return plan->problem == canonical; };
  std::vector<const Plan*> old;
  {
    const std::scoped_lock lock(mutex_);
    std::copy_if(plans_.begin(), plans_.end(), std::back_inserter(old), is_of_problem);
  }
  for (const Plan* plan : old) {
    if (const Plan* successor = make(*plan)) {
      plan->successor.store(successor, std::memory_order_release);
      note_calls_of(*plan);
    }
  }
  const std::scoped_lock lock(mutex_);
  std::erase_if(plans_, [&](const Plan* plan) {
    return is_of_problem(plan) && plan->successor.load(std::memory_order_relaxed) != nullptr;
  });
  return std::none_of(plans_.begin(), plans_.end(), is_of_problem);
}

}  // namespace tunedgemm::internal
