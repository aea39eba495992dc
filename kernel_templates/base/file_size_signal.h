#pragma once

// FileSizeSignalBlocked: turns a file that grows past the process's limit (ulimit -f) into an error
// of the write call, like a full disk, instead of the end of the process.

#include <csignal>
#include <ctime>

namespace tunedgemm::internal {

/// SIGXFSZ is sent to the writing thread, so it is blocked in this thread during the object's
/// lifetime. The program's own handling of the signal stays as it is.
class [[nodiscard]] FileSizeSignalBlocked {
 public:
  FileSizeSignalBlocked() noexcept {
    sigemptyset(&blocked_);
    sigaddset(&blocked_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &blocked_, &before_);
  }
  ~FileSizeSignalBlocked() {
    // If the thread had already blocked it, a pending signal belongs to the program.
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
