#pragma once

// FileSizeSignalBlocked: a file that grows past the process's limit (ulimit -f) is an error of the
// call that writes, as a full disk is, and not the end of the process.

#include <csignal>

namespace tunedgemm::internal {

/// SIGXFSZ is sent to the thread that writes, which is this one while the object lives. What
/// the program does about the signal elsewhere is left as it is.
class [[nodiscard]] FileSizeSignalBlocked {
 public:
  FileSizeSignalBlocked() noexcept;
  ~FileSizeSignalBlocked();
  FileSizeSignalBlocked(const FileSizeSignalBlocked&) = delete;
  FileSizeSignalBlocked& operator=(const FileSizeSignalBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace tunedgemm::internal
