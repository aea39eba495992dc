// Runs both programs and measures the lines that they print.

#include <algorithm>
#include <sstream>
#include <string>

#include "tests/support/catch.h"
#include "tests/tools/support/shell.h"
#include "tools/shared/table.h"

namespace tunedgemm::internal {
namespace {

std::size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) {
    longest = std::max(longest, display_width(line));
  }
  return longest;
}

TEST_CASE("The help of both programs and of every verb fits 80 columns") {
  const Shell shell;
  const std::string command =
      GENERATE(as<std::string>(), TUNE_ALL, TUNEDGEMM, TUNEDGEMM " best", TUNEDGEMM " explain",
               TUNEDGEMM " trials", TUNEDGEMM " bench", TUNEDGEMM " sweep", TUNEDGEMM " ladder",
               TUNEDGEMM " order", TUNEDGEMM " doctor", TUNEDGEMM " export", TUNEDGEMM " merge",
               TUNEDGEMM " verify");
  const ProgramResult help = shell.run(command + " --help");
  CAPTURE(command, help.output);
  CHECK(help.status == 0);
  CHECK(longest_line(help.output) > 0);
  CHECK(longest_line(help.output) <= 80);
}

}  // namespace
}  // namespace tunedgemm::internal
