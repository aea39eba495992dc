#include "tools/shared/full_disk.h"

#include <cerrno>
#include <cstring>
#include <iostream>

namespace tunedgemm {

bool standard_output_arrived(std::string_view program) {
  errno = 0;
  if (std::cout.flush()) {
    return true;
  }
  std::cerr << program << ": the standard output could not be written";
  if (errno != 0) {
    std::cerr << ": " << std::strerror(errno);
  }
  std::cerr << '\n';
  return false;
}

}  // namespace tunedgemm
