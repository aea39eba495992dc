#pragma once

// start_thread: how every thread of this layer begins.

#include <exception>
#include <optional>
#include <thread>
#include <utility>

namespace tunedgemm::internal {

/// A thread that does the work, or nothing where the system has none to give (a limit on processes,
/// no memory for a stack): the caller then goes on with what it has, in the end with itself.
template <class Work>
[[nodiscard]] std::optional<std::thread> start_thread(Work&& work) noexcept {
  try {
    return std::thread(std::forward<Work>(work));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace tunedgemm::internal
