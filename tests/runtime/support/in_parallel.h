#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tunedgemm::internal {

/// Calls work(index, thread) for every index below count on the given number of threads. Rethrows
/// the first exception after all have ended.
inline void for_each_in_parallel(std::size_t count, int threads,
                                 const std::function<void(std::size_t, std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto take = [&](std::size_t thread) {
    try {
      for (std::size_t index = next++; index < count; index = next++) {
        work(index, thread);
      }
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      failure = failure ? failure : std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread) {
    others.emplace_back(take, static_cast<std::size_t>(thread));
  }
  take(0);
  for (std::thread& thread : others) {
    thread.join();
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace tunedgemm::internal
