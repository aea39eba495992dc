#include "tools/shared/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "kernel_templates/base/environment.h"
#include "kernel_templates/base/text.h"

namespace tunedgemm::internal {

std::size_t line_width(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return size.ws_col;
  }
  const std::size_t columns = whole_number<std::size_t>(environment("COLUMNS")).value_or(0);
  return columns > 0 ? columns : kUsualWidth;
}

std::size_t sentence_width(int descriptor) {
  return isatty(descriptor) != 0 ? line_width(descriptor) : kUnlimited;
}

}  // namespace tunedgemm::internal
