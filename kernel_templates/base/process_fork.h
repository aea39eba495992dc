#pragma once

// fork(): one rule and one gate. The rule: a context belongs to the process that created it, and a
// child creates its own. The gate: a child has one thread, and memory as the parent's other threads
// left it, so a lock held by one of them stays locked forever. The few process-wide locks
// (SQLite's, the logger's) are taken only inside a ForkGuard, and fork() waits until no thread is
// inside one.

#include <sys/types.h>

namespace tunedgemm::internal {

/// During its lifetime no other thread can fork. May be nested; keep it short. A thread must not
/// fork inside its own.
class [[nodiscard]] ForkGuard {
 public:
  ForkGuard() noexcept;
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;
};

/// getpid() at the cost of a load: a context created under another number belongs to a parent
/// process.
pid_t process_id() noexcept;

}  // namespace tunedgemm::internal
