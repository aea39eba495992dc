#pragma once

// The library survives fork() by a rule and a gate. The rule: a context belongs to the process that
// created it, and a child process creates its own. The gate is needed because a child has only one
// thread: a lock that another thread of the parent held stays locked forever. The few process-wide
// locks (SQLite's, the logger's) are therefore taken only while a ForkGuard exists, and fork()
// waits until none exists.

#include <sys/types.h>

namespace tunedgemm::internal {

/// No other thread can fork while a ForkGuard exists, so keep its lifetime short. ForkGuards may be
/// nested. A thread must not fork while it has a ForkGuard.
class [[nodiscard]] ForkGuard {
 public:
  ForkGuard() noexcept;
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;
};

/// getpid(), cached. A context created under another process id belongs to an ancestor of this
/// process.
pid_t process_id() noexcept;

}  // namespace tunedgemm::internal
