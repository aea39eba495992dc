#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <vector>

namespace tunedgemm::internal {

/// Calls work(index) for each index below `count` at once, the first one on this thread. Rethrows
/// an exception when all have ended. Throws std::system_error if the system refuses a thread.
inline void concurrently(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::vector<std::future<void>> others;
  for (std::size_t index = 1; index < count; ++index) {
    others.push_back(std::async(std::launch::async, work, index));
  }
  if (count > 0) {
    work(0);
  }
  for (std::future<void>& other : others) {
    other.get();
  }
}

}  // namespace tunedgemm::internal
