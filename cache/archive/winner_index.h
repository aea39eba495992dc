#pragma once

// WinnerIndex: the winners of all files in memory, found by the fingerprints of problem and device.
// Private to cache. Not thread-safe.

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cache/tables/winner_rows.h"

namespace tunedgemm {

class WinnerIndex {
 public:
  /// Files come in the order in which they are asked: earlier ones stand first.
  void add(const std::string& problem, const std::string& device, StoredWinner winner);
  /// Puts a winner first, in place of those of the same toolchain.
  void replace(const std::string& problem, const std::string& device, StoredWinner winner);

  /// The winners of the problem on the device in the order in which they are to be tried: those of
  /// this toolchain as they stand, then the others, the newest first.
  std::vector<const StoredWinner*> find(const std::string& problem, const std::string& device,
                                        const Toolchain& toolchain) const;

  void for_each(const std::function<void(const StoredWinner&)>& take) const;
  std::int64_t size() const;

 private:
  using OfProblems = std::unordered_map<std::string, std::vector<StoredWinner>>;
  std::unordered_map<std::string, OfProblems> of_devices_;
};

}  // namespace tunedgemm
