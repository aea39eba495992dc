#pragma once

// BinaryCache: machine code that one problem's candidates left for the next problem.

#include <cstddef>
#include <filesystem>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "cache/record.h"

namespace tunedgemm::internal {

/// LRU cache of the machine code compiled by this process. The source of a candidate does not
/// contain M, N and K, so problems of the same types and layouts share many binaries. The store
/// does not keep the binaries of most losing candidates. Thread-safe.
class BinaryCache {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

  /// Drops the least recently used binaries if their machine code exceeds `most_bytes`.
  /// `folder`: unless empty, a private folder in which processes that tune on equal devices share
  /// their binaries. Each writes at most four times `most_bytes` there, and nobody removes any.
  explicit BinaryCache(std::size_t most_bytes = kMostBytes, std::filesystem::path folder = {})
      : most_bytes_(most_bytes), folder_(std::move(folder)) {}

  /// The binary for a source's fingerprint; empty if neither this process nor another one with the
  /// same folder has kept it. A cache serves one compiler and one architecture.
  std::optional<Binary> find(const std::string& source_fingerprint);
  /// Ignores a binary larger than the whole cache.
  void keep(const std::string& source_fingerprint, const Binary& binary);

 private:
  struct Entry {
    std::string source_fingerprint;
    Binary binary;
  };

  bool keep_here(const std::string& source_fingerprint, const Binary& binary);

  const std::size_t most_bytes_;
  const std::filesystem::path folder_;
  std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::size_t shared_bytes_ = 0;  ///< written to the folder
  std::list<Entry> entries_;      ///< the most recently used first
  std::map<std::string, std::list<Entry>::iterator> by_source_;
};

}  // namespace tunedgemm::internal
