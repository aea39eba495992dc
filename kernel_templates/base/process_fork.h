#pragma once

// fork(): one rule and one gate. The rule: a context belongs to the process that made it, and a
// child makes its own. The gate: a child has one thread, and memory as the parent's other threads
// left it, so a lock that one of them held stays locked. The few locks that all of a process share
// (SQLite's, the logger's) are held inside a ForkGuard only, and fork() waits until no thread is
// inside one.

#include <sys/types.h>

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

/// getpid() for the price of a load: a context that was made under another number belongs to a
/// parent process.
pid_t process_id() noexcept;

}  // namespace tunedgemm::internal
