#pragma once

// RecentPlans: provisional plans that are not kept for the life of the context, because it has many
// of them already. When there are too many, or when a winner may have been stored for one of their
// problems, all are dropped; a later call makes its plan again. A caller holds its plan while it
// runs.
//
// Thread-safe.

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "runtime/context/plan.h"

namespace tunedgemm::internal {

class RecentPlans {
 public:
  /// Called with each plan that is dropped.
  using OnDrop = std::function<void(const Plan&)>;

  RecentPlans(std::size_t most, OnDrop on_drop) : most_(most), on_drop_(std::move(on_drop)) {}
  ~RecentPlans() = default;
  RecentPlans(const RecentPlans&) = delete;
  RecentPlans& operator=(const RecentPlans&) = delete;

  /// Null if there is none.
  std::shared_ptr<const Plan> find(const CallKey& key) const {
    const std::scoped_lock lock(mutex_);
    const auto found = plans_.find(key);
    return found == plans_.end() ? nullptr : found->second;
  }

  std::shared_ptr<const Plan> add(std::unique_ptr<Plan> plan) {
    const std::scoped_lock lock(mutex_);
    if (plans_.size() >= most_) {
      drop_all();
    }
    const CallKey& key = plan->key;
    return plans_.insert_or_assign(key, std::move(plan)).first->second;
  }

  void clear() {
    const std::scoped_lock lock(mutex_);
    drop_all();
  }

 private:
  void drop_all() {
    for (const auto& [key, plan] : plans_) {
      on_drop_(*plan);
    }
    plans_.clear();
  }

  const std::size_t most_;
  const OnDrop on_drop_;
  mutable std::mutex mutex_;
  std::unordered_map<CallKey, std::shared_ptr<const Plan>> plans_;
};

}  // namespace tunedgemm::internal
