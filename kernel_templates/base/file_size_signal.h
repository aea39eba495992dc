#pragma once

// FileSizeSignalBlocked: a file that grows past the process's limit (ulimit -f) is an error of the
// call that writes, as a full disk is, and not the end of the process.

#include <csignal>
#include <ctime>

namespace tunedgemm::internal {

/// SIGXFSZ is sent to the thread that writes, which is this one while the object lives. What
/// the program does about the signal elsewhere is left as it is.
class [[nodiscard]] FileSizeSignalBlocked {
 public:
  FileSizeSignalBlocked() noexcept {
    sigemptyset(&blocked_);
    sigaddset(&blocked_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &blocked_, &before_);
  }
  ~FileSizeSignalBlocked() {
    // Where the thread had it blocked already, what is pending is for others to take.
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
