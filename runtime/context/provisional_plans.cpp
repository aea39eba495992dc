#include "runtime/context/provisional_plans.h"

#include <cstdint>

namespace tunedgemm::internal {

void ProvisionalPlans::add(const Plan& plan) {
  bool has_doubled = false;
  {
    const std::scoped_lock lock(mutex_);
    plans_[fingerprint(plan.problem)].push_back(&plan);
    has_doubled = 2 * ++added_ >= ++size_;
  }
  if (has_doubled) {
    note_calls();
  }
}

std::size_t ProvisionalPlans::size() const {
  const std::scoped_lock lock(mutex_);
  return size_;
}

void ProvisionalPlans::note_calls() {
  const std::scoped_lock lock(mutex_);
  added_ = 0;
  for (const auto& [problem, plans] : plans_) {
    for (const Plan* plan : plans) {
      note_calls_of(*plan);
    }
  }
}

void ProvisionalPlans::note_calls_of(const Plan& plan) const {
  if (const std::int64_t calls = plan.calls.exchange(0, std::memory_order_relaxed); calls > 0) {
    plan.noted_calls.fetch_add(calls, std::memory_order_relaxed);
    store_.note_request(plan.problem, device_.identity(), calls);
  }
}

std::vector<CanonicalProblem> ProvisionalPlans::problems_among(
    const std::unordered_set<std::string>& fingerprints) const {
  const std::scoped_lock lock(mutex_);
  std::vector<CanonicalProblem> problems;
  for (const std::string& fingerprint : fingerprints) {
    if (const auto found = plans_.find(fingerprint); found != plans_.end()) {
      problems.push_back(found->second.front()->problem);
    }
  }
  return problems;
}

bool ProvisionalPlans::replace(const CanonicalProblem& problem,
                               const std::function<const Plan*(const Plan&)>& make) {
  const std::string key = fingerprint(problem);
  std::vector<const Plan*> old;
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = plans_.find(key); found != plans_.end()) {
      old = found->second;
    }
  }
  for (const Plan* plan : old) {
    if (const Plan* successor = make(*plan)) {
      plan->successor.store(successor, std::memory_order_release);
      note_calls_of(*plan);
    }
  }
  const std::scoped_lock lock(mutex_);
  const auto found = plans_.find(key);
  if (found == plans_.end()) {
    return true;
  }
  size_ -= std::erase_if(found->second, [](const Plan* plan) {
    return plan->successor.load(std::memory_order_relaxed) != nullptr;
  });
  const bool none_is_left = found->second.empty();
  if (none_is_left) {
    plans_.erase(found);
  }
  return none_is_left;
}

}  // namespace tunedgemm::internal
