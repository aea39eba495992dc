#include "tools/shared/full_disk.h"

#include <cerrno>
#include <cstring>
#include <iostream>

namespace tunedgemm::internal {

int status_after_output(int status, std::string_view program) {
  errno = 0;
  if (std::cout.flush()) {
    return status;
  }
  std::cerr << program << ": the standard output could not be written";
  if (errno != 0) {
    std::cerr << ": " << std::strerror(errno);
  }
  std::cerr << '\n';
  return status == 0 ? kCannotWrite : status;
}

}  // namespace tunedgemm::internal
