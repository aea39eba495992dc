#include "cache/archive/winner_index.h"

#include <algorithm>
#include <utility>

namespace tunedgemm {

void WinnerIndex::add(const std::string& problem, const std::string& device, StoredWinner winner) {
  of_devices_[device][problem].push_back(std::move(winner));
}

void WinnerIndex::replace(const std::string& problem, const std::string& device,
                          StoredWinner winner) {
  auto& winners = of_devices_[device][problem];
  std::erase_if(winners, [&](const StoredWinner& old) {
    return old.record.toolchain == winner.record.toolchain;
  });
  winners.insert(winners.begin(), std::move(winner));
}

std::vector<const StoredWinner*> WinnerIndex::find(const std::string& problem,
                                                   const std::string& device,
                                                   const Toolchain& toolchain) const {
  std::vector<const StoredWinner*> found;
  const auto of_problems = of_devices_.find(device);
  if (of_problems == of_devices_.end()) {
    return found;
  }
  const auto winners = of_problems->second.find(problem);
  if (winners == of_problems->second.end()) {
    return found;
  }
  for (const StoredWinner& winner : winners->second) {
    found.push_back(&winner);
  }
  const auto others = std::stable_partition(
      found.begin(), found.end(),
      [&](const StoredWinner* winner) { return winner->record.toolchain == toolchain; });
  std::stable_sort(others, found.end(), [](const StoredWinner* left, const StoredWinner* right) {
    return left->record.tuned_at > right->record.tuned_at;
  });
  return found;
}

void WinnerIndex::for_each(const std::function<void(const StoredWinner&)>& take) const {
  for (const auto& [device, of_problems] : of_devices_) {
    for (const auto& [problem, winners] : of_problems) {
      std::for_each(winners.begin(), winners.end(), take);
    }
  }
}

std::int64_t WinnerIndex::size() const {
  std::int64_t count = 0;
  for_each([&](const StoredWinner&) { ++count; });
  return count;
}

}  // namespace tunedgemm
