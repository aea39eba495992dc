#pragma once

// AddOnlyMap: values by their keys, such as the plans of calls.
//
// Thread-safe. find() needs no lock, because entries are only added, at the front of their bucket's
// list, and live as long as the map. The map owns its values.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tunedgemm::internal {

/// A Value has a member `key`, whose type has operator== and hash().
template <class Value, std::size_t kBuckets = 1 << 14>
class AddOnlyMap {
 public:
  using Key = decltype(Value::key);

  /// The value that was last added for the key, or null.
  Value* find(const Key& key) const noexcept {
    const std::uint64_t hashed = hash(key);
    const Entry* entry = buckets_[hashed % kBuckets].load(std::memory_order_acquire);
    while (entry != nullptr && !(entry->hashed == hashed && entry->value->key == key)) {
      entry = entry->next;
    }
    return entry == nullptr ? nullptr : entry->value.get();
  }

  Value& add(std::unique_ptr<Value> value) {
    const std::scoped_lock lock(adding_);
    return add_locked(std::move(value));
  }
  /// The value of the key; if there is none, adds that of make(), or returns null if the map has
  /// `most` values.
  template <class Make>
  Value* find_or_add(const Key& key, std::size_t most, Make make) {
    if (Value* const known = find(key)) {
      return known;
    }
    const std::scoped_lock lock(adding_);
    if (Value* const known = find(key)) {
      return known;
    }
    return entries_.size() < most ? &add_locked(make()) : nullptr;
  }

  /// Calls `function` for the values that were added before.
  template <class Function>
  void for_each(Function function) const {
    for (const Bucket& bucket : buckets_) {
      for (const Entry* entry = bucket.load(std::memory_order_acquire); entry != nullptr;
           entry = entry->next) {
        function(*entry->value);
      }
    }
  }

 private:
  struct Entry {
    std::unique_ptr<Value> value;
    std::uint64_t hashed = 0;  // spares find() most reads of other values
    const Entry* next = nullptr;
  };
  using Bucket = std::atomic<const Entry*>;

  Value& add_locked(std::unique_ptr<Value> value) {
    const std::uint64_t hashed = hash(value->key);
    Bucket& bucket = buckets_[hashed % kBuckets];
    const Entry* next = bucket.load(std::memory_order_relaxed);
    entries_.push_back(std::make_unique<Entry>(Entry{std::move(value), hashed, next}));
    bucket.store(entries_.back().get(), std::memory_order_release);
    return *entries_.back()->value;
  }

  std::array<Bucket, kBuckets> buckets_{};
  std::mutex adding_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace tunedgemm::internal
