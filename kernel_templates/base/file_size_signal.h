#pragma once

// FileSizeSignalBlocked: a write beyond the process's file size limit (ulimit -f) fails, as on a
// full disk, instead of killing the process.

#include <csignal>
#include <ctime>

namespace tunedgemm::internal {

/// Blocks SIGXFSZ in this thread during the object's lifetime. The system sends this signal to the
/// thread that writes. The program's own handling of the signal does not change.
class [[nodiscard]] FileSizeSignalBlocked {
 public:
  FileSizeSignalBlocked() noexcept {
    sigemptyset(&blocked_);
    sigaddset(&blocked_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &blocked_, &before_);
  }
  ~FileSizeSignalBlocked() {
    // If the thread had blocked the signal before, a pending signal belongs to the program.
    if (sigismember(&before_, SIGXFSZ) == 0) {
      const timespec at_once{};
      while (sigtimedwait(&blocked_, nullptr, &at_once) > 0) {
      }
      pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
  }
  FileSizeSignalBlocked(const FileSizeSignalBlocked&) = delete;
  FileSizeSignalBlocked& operator=(const FileSizeSignalBlocked&) = delete;

 private:
  sigset_t blocked_;
  sigset_t before_;
};

}  // namespace tunedgemm::internal
