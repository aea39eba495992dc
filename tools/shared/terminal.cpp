#include "tools/shared/terminal.h"

#include <sys/ioctl.h>

#include <charconv>
#include <string>

#include "kernel_templates/base/environment.h"

namespace tunedgemm::internal {

std::size_t line_width(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return size.ws_col;
  }
  const std::string columns = environment("COLUMNS");
  std::size_t width = 0;
  const auto [end, error] = std::from_chars(columns.data(), columns.data() + columns.size(), width);
  const bool is_number = error == std::errc() && end == columns.data() + columns.size();
  return is_number && width > 0 ? width : kUsualWidth;
}

}  // namespace tunedgemm::internal
