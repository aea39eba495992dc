#pragma once

// Patience: waiting for other processes by looking again and again. Private to this folder.

#include <chrono>

namespace tunedgemm {

/// Not thread-safe.
class Patience {
 public:
  explicit Patience(std::chrono::milliseconds limit) : limit_(limit) { begin_again(); }
  void begin_again() { end_ = std::chrono::steady_clock::now() + limit_; }
  /// Sleeps for a short and random time, by which those who wait for the same thing get equal
  /// chances; false once there has been enough of that.
  bool wait_a_little() const;

 private:
  std::chrono::milliseconds limit_;
  std::chrono::steady_clock::time_point end_;
};

}  // namespace tunedgemm
