#pragma once

// PlanCache: maps the key of a call to its plan.
//
// Thread-safe. find() needs no lock, because entries are only added, at the front of their bucket's
// list, and live as long as the cache. The cache owns its plans.

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/calls/plan.h"

namespace tunedgemm::internal {

class PlanCache {
 public:
  /// The plan that was last added for the key, or null.
  const Plan* find(const CallKey& key) const noexcept {
    const Entry* entry = bucket_of(key).load(std::memory_order_acquire);
    while (entry != nullptr && !(entry->plan->key == key)) {
      entry = entry->next;
    }
    return entry == nullptr ? nullptr : entry->plan.get();
  }

  const Plan& add(std::unique_ptr<Plan> plan) {
    const std::scoped_lock lock(adding_);
    auto& bucket = bucket_of(plan->key);
    const Entry* next = bucket.load(std::memory_order_relaxed);
    entries_.push_back(std::make_unique<Entry>(Entry{std::move(plan), next}));
    bucket.store(entries_.back().get(), std::memory_order_release);
    return *entries_.back()->plan;
  }

 private:
  struct Entry {
    std::unique_ptr<Plan> plan;
    const Entry* next = nullptr;
  };
  static constexpr std::size_t kBuckets = 4096;
  using Bucket = std::atomic<const Entry*>;

  const Bucket& bucket_of(const CallKey& key) const noexcept {
    return buckets_[hash(key) % kBuckets];
  }
  Bucket& bucket_of(const CallKey& key) noexcept { return buckets_[hash(key) % kBuckets]; }

  std::array<Bucket, kBuckets> buckets_{};
  std::mutex adding_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace tunedgemm::internal
