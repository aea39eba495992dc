#pragma once

// start_thread: std::thread for callers that can go on without one.

#include <exception>
#include <optional>
#include <thread>
#include <utility>

namespace tunedgemm::internal {

/// Starts a thread that does the work. Empty if the system refuses one (a process limit, no memory
/// for a stack): the caller then continues with fewer threads, or does the work itself.
template <class Work>
[[nodiscard]] std::optional<std::thread> start_thread(Work&& work) noexcept {
  try {
    return std::thread(std::forward<Work>(work));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace tunedgemm::internal
