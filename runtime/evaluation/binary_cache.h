#pragma once

// BinaryCache: machine code of candidates that this process has compiled, the most recently used.
//
// The source of a candidate does not name M, N and K, so problems of the same types and layouts
// try many of the same binaries, and only those that win are stored. Any number of threads may use
// it.

#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "cache/record.h"

namespace tunedgemm::internal {

class BinaryCache {
 public:
  /// Drops what was not used for longest once the machine code takes more than so many bytes.
  explicit BinaryCache(std::size_t most_bytes = std::size_t{64} << 20) : most_bytes_(most_bytes) {}

  /// By the fingerprint of its source: one cache serves one compiler and one architecture.
  std::optional<Binary> find(const std::string& source_fingerprint);
  /// Not kept if it is larger than everything the cache may hold.
  void keep(const std::string& source_fingerprint, const Binary& binary);

 private:
  struct Entry {
    std::string source_fingerprint;
    Binary binary;
  };

  std::size_t most_bytes_;
  std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;  ///< the most recently used first
  std::map<std::string, std::list<Entry>::iterator> by_source_;
};

}  // namespace tunedgemm::internal
