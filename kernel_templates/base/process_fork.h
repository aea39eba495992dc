#pragma once

// fork(): what a child process finds of the library. A child has one thread, and memory as the
// parent's other threads left it at that moment: a lock that one of them held stays locked. So the
// few locks that all of a process share (SQLite's, the logger's) are only held inside a ForkGuard,
// and a fork waits until no thread is inside one.

#include <cstdint>

namespace tunedgemm::internal {

/// While it lives no other thread can fork. May be nested; for what ends soon. A thread must not
/// fork inside its own.
class [[nodiscard]] ForkGuard {
 public:
  ForkGuard() noexcept;
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;
};

/// How many forks lie between this process and the one that loaded the library: what was made when
/// the number was another one belongs to a parent. Costs a load.
std::uint32_t forks() noexcept;

}  // namespace tunedgemm::internal
