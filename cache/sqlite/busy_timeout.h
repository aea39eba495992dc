#pragma once

// BusyTimeout: waiting for other processes by looking again and again. Private to cache.

#include <chrono>

namespace tunedgemm::internal {

/// Not thread-safe.
class BusyTimeout {
 public:
  explicit BusyTimeout(std::chrono::milliseconds limit) : limit_(limit) { restart(); }
  void restart() { end_ = std::chrono::steady_clock::now() + limit_; }
  /// Sleeps for a short and random time, by which those who wait for the same thing get equal
  /// chances; false once there has been enough of that.
  bool wait() const;

 private:
  std::chrono::milliseconds limit_;
  std::chrono::steady_clock::time_point end_;
};

}  // namespace tunedgemm::internal
