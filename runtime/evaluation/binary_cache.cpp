#include "runtime/evaluation/binary_cache.h"

#include <unistd.h>

#include <system_error>

#include "runtime/process/binary_file.h"

namespace tunedgemm::internal {

std::optional<Binary> BinaryCache::find(const std::string& source_fingerprint) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = by_source_.find(source_fingerprint);
    if (found != by_source_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->binary;
    }
  }
  std::optional<Binary> shared =
      folder_.empty() ? std::nullopt : read_binary(folder_ / source_fingerprint);
  if (shared) {
    keep_here(source_fingerprint, *shared);
  }
  return shared;
}

void BinaryCache::keep(const std::string& source_fingerprint, const Binary& binary) {
  if (!keep_here(source_fingerprint, binary) || folder_.empty()) {
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (shared_bytes_ + binary.code.size() > 4 * most_bytes_) {
      return;
    }
    shared_bytes_ += binary.code.size();
  }
  // Renamed when it is complete. Without space or folder the others compile.
  const std::filesystem::path path = folder_ / source_fingerprint;
  const std::filesystem::path unfinished = path.string() + "." + std::to_string(getpid());
  std::error_code ignored;
  if (write_binary(unfinished, binary)) {
    std::filesystem::rename(unfinished, path, ignored);
  } else {
    std::filesystem::remove(unfinished, ignored);
  }
}

// False if the cache has the binary already, or not enough space.
bool BinaryCache::keep_here(const std::string& source_fingerprint, const Binary& binary) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (binary.code.size() > most_bytes_ || by_source_.contains(source_fingerprint)) {
    return false;
  }
  entries_.push_front({source_fingerprint, binary});
  by_source_.emplace(source_fingerprint, entries_.begin());
  bytes_ += binary.code.size();
  while (bytes_ > most_bytes_) {
    bytes_ -= entries_.back().binary.code.size();
    by_source_.erase(entries_.back().source_fingerprint);
    entries_.pop_back();
  }
  return true;
}

}  // namespace tunedgemm::internal
