#include "kernel_templates/base/file_size_signal.h"

#include <ctime>

namespace tunedgemm::internal {
namespace {

sigset_t file_size_signal() noexcept {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return set;
}

}  // namespace

FileSizeSignalBlocked::FileSizeSignalBlocked() noexcept {
  const sigset_t blocked = file_size_signal();
  pthread_sigmask(SIG_BLOCK, &blocked, &before_);
}

FileSizeSignalBlocked::~FileSizeSignalBlocked() {
  // Where the thread had it blocked already, what is pending is for others to take.
  if (sigismember(&before_, SIGXFSZ) == 0) {
    const sigset_t blocked = file_size_signal();
    const timespec at_once{};
    while (sigtimedwait(&blocked, nullptr, &at_once) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
}

}  // namespace tunedgemm::internal
