#pragma once

// PlanCache: maps the key of a call to its plan.
//
// Thread-safe. find() needs no lock, because entries are only added, at the front of their bucket's
// list, and live as long as the cache. The cache owns its plans.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/context/plan.h"

namespace tunedgemm::internal {

class PlanCache {
 public:
  /// The plan that was last added for the key, or null.
  const Plan* find(const CallKey& key) const noexcept {
    const std::uint64_t hash = internal::hash(key);
    const Entry* entry = buckets_[hash % kBuckets].load(std::memory_order_acquire);
    while (entry != nullptr && !(entry->hash == hash && entry->plan->key == key)) {
      entry = entry->next;
    }
    return entry == nullptr ? nullptr : entry->plan.get();
  }

  const Plan& add(std::unique_ptr<Plan> plan) {
    const std::scoped_lock lock(adding_);
    const std::uint64_t hash = internal::hash(plan->key);
    Bucket& bucket = buckets_[hash % kBuckets];
    const Entry* next = bucket.load(std::memory_order_relaxed);
    entries_.push_back(std::make_unique<Entry>(Entry{std::move(plan), hash, next}));
    bucket.store(entries_.back().get(), std::memory_order_release);
    return *entries_.back()->plan;
  }

 private:
  struct Entry {
    std::unique_ptr<Plan> plan;
    std::uint64_t hash = 0;  // spares find() most reads of other plans
    const Entry* next = nullptr;
  };
  static constexpr std::size_t kBuckets = 1 << 14;
  using Bucket = std::atomic<const Entry*>;

  std::array<Bucket, kBuckets> buckets_{};
  std::mutex adding_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace tunedgemm::internal
