#pragma once

// How the library survives fork(): with a rule and a gate. The rule: a context belongs to the
// process that created it, and a child process creates its own. The gate: a child has only one
// thread, so a lock that another thread of the parent held stays locked forever. The few
// process-wide locks (SQLite's, the logger's) are therefore taken only inside a ForkGuard, and
// fork() waits until no thread is inside one.

#include <sys/types.h>

namespace tunedgemm::internal {

/// No other thread can fork during its lifetime, so keep it short. It may be nested. A thread must
/// not fork while it has a ForkGuard itself.
class [[nodiscard]] ForkGuard {
 public:
  ForkGuard() noexcept;
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;
};

/// getpid() at the cost of a load. A context created under another process id belongs to a parent
/// process.
pid_t process_id() noexcept;

}  // namespace tunedgemm::internal
