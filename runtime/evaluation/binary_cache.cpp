#include "runtime/evaluation/binary_cache.h"

namespace tunedgemm::internal {

std::optional<Binary> BinaryCache::find(const std::string& source_fingerprint) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = by_source_.find(source_fingerprint);
  if (found == by_source_.end()) {
    return std::nullopt;
  }
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->binary;
}

void BinaryCache::keep(const std::string& source_fingerprint, const Binary& binary) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (binary.code.size() > most_bytes_ || by_source_.contains(source_fingerprint)) {
    return;
  }
  entries_.push_front({source_fingerprint, binary});
  by_source_.emplace(source_fingerprint, entries_.begin());
  bytes_ += binary.code.size();
  while (bytes_ > most_bytes_) {
    bytes_ -= entries_.back().binary.code.size();
    by_source_.erase(entries_.back().source_fingerprint);
    entries_.pop_back();
  }
}

}  // namespace tunedgemm::internal
