#pragma once

// Waits for the effect of another thread.

#include <chrono>
#include <functional>
#include <thread>

namespace tunedgemm::internal {

/// Whether the condition becomes true within a minute, polled every millisecond. Only a busy
/// machine needs that long.
inline bool comes_true(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace tunedgemm::internal
