#include "runtime/host/is_readable.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace tunedgemm::internal {

// A write to a pipe copies the byte as any program would read it, and fails with EFAULT where that
// would be a segmentation fault. Not by the C library's write(), in whose place sanitizers look at
// the memory themselves.
bool is_readable(const void* pointer) noexcept {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    return true;
  }
  const bool fails = ::syscall(SYS_write, ends[1], pointer, 1) < 0 && errno == EFAULT;
  ::close(ends[0]);
  ::close(ends[1]);
  return !fails;
}

}  // namespace tunedgemm::internal
