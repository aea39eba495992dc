#include "cache/sqlite/busy_timeout.h"

#include <cstdint>
#include <random>
#include <thread>

namespace tunedgemm::internal {

bool BusyTimeout::wait() const {
  constexpr std::uint32_t kShortestUs = 200;
  constexpr std::uint32_t kLongestUs = 2000;
  if (std::chrono::steady_clock::now() >= end_) {
    return false;
  }
  thread_local std::minstd_rand random(std::random_device{}());
  std::uniform_int_distribution<std::uint32_t> length_us(kShortestUs, kLongestUs);
  std::this_thread::sleep_for(std::chrono::microseconds(length_us(random)));
  return true;
}

}  // namespace tunedgemm::internal
