#pragma once

// Waiting for what another thread does.

#include <chrono>
#include <functional>
#include <thread>

namespace tunedgemm::internal {

/// Whether the condition holds within a minute, asked every millisecond: what a test waits for
/// comes at once, unless the machine is busy.
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
