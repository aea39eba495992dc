#pragma once

// start_thread: a std::thread or std::jthread for callers that can continue without one.

#include <exception>
#include <optional>
#include <thread>
#include <utility>

namespace tunedgemm::internal {

/// Starts a thread that does the work. Empty if the system refuses a thread (a process limit, no
/// memory for a stack). The caller then uses fewer threads, or does the work itself.
template <class Thread = std::thread, class Work>
[[nodiscard]] std::optional<Thread> start_thread(Work&& work) noexcept {
  try {
    return Thread(std::forward<Work>(work));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace tunedgemm::internal
