// Runs both programs and measures the lines that they print.

#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/catch.h"
#include "tests/tools/support/shell.h"
#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;

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

TEST_CASE("The tables of tune-all and best fit 80 columns, and --wide shows every column") {
  const Shell shell;
  std::ofstream(shell.folder() / "list.csv")
      << "name,types,layout,m,n,k,activation\n"
      << std::string(90, 'n') << ",f32,nn,40,24,16,\nsecond,f64,tn,48,24,16,relu\n";
  const std::string tune = TUNE_ALL " --device host --rigor quick --candidates 2 list.csv ";
  REQUIRE(shell.run(tune).status == 0);
  const std::string command = GENERATE_COPY(as<std::string>(), tune, TUNEDGEMM " best ");
  const auto table_of = [](const std::string& text) {
    return text.substr(0, text.find("2 shapes on"));  // without tune-all's summary
  };
  const std::string table = table_of(shell.run(command).output);
  CAPTURE(table);
  CHECK(longest_line(table) <= 80);
  CHECK_THAT(table, ContainsSubstring("40x24x16 nn") && ContainsSubstring("f64→f64") &&
                        ContainsSubstring("vs default") && ContainsSubstring("state: "));
  const std::string wide = shell.run(command + "--wide").output;
  CHECK(longest_line(wide) > 80);
  CHECK_THAT(wide, ContainsSubstring("vs naive"));
  CHECK(longest_line(table_of(shell.run("export COLUMNS=60; " + command).output)) <= 60);
}

/// Runs the command in the shell's folder, on a terminal of its own. Returns all that it writes.
std::string output_on_terminal(const Shell& shell, const std::string& command,
                               unsigned short columns) {
  winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const std::string line = "cd " + shell.folder().string() +
                           " && export TUNEDGEMM_CACHE=" + shell.cache().string() + " && " +
                           command;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  REQUIRE(child >= 0);
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  std::string output;
  std::array<char, 4096> bytes{};
  for (ssize_t count = 0; (count = read(terminal, bytes.data(), bytes.size())) > 0;) {
    output.append(bytes.data(), static_cast<std::size_t>(count));
  }
  close(terminal);
  int status = -1;
  waitpid(child, &status, 0);
  CAPTURE(output);
  REQUIRE(status == 0);
  return output;
}

TEST_CASE("On a terminal of 80 columns progress is one line that neither wraps nor scrolls") {
  const Shell shell;
  const std::string name(90, 'n');
  std::ofstream(shell.folder() / "list.csv") << "name,types,m,n,k\n"
                                             << name << ",f32,40,24,16\n"
                                             << "second,f32,48,24,16\n";
  const std::string output = output_on_terminal(
      shell,
      TUNE_ALL " --device host --rigor quick --candidates 3 --budget-seconds 100 list.csv >table",
      80);
  CAPTURE(output);
  const std::string erase_line = "\r\x1b[2K";
  std::size_t rewrites = 0;
  for (std::size_t begin = output.find(erase_line); begin != std::string::npos; ++rewrites) {
    begin += erase_line.size();
    const std::size_t end = output.find(erase_line, begin);
    const std::string line = output.substr(begin, end - begin);
    CAPTURE(line);
    CHECK(display_width(line) <= 80);
    CHECK(line.find_first_of("\r\n") == std::string::npos);
    CHECK((line.empty() || line.find(" s  ") != std::string::npos ||
           line.find(" s left  ") != std::string::npos));
    begin = end;
  }
  CHECK(rewrites > 3);
  CHECK_THAT(output, ContainsSubstring("1/2  0 s  nnn") && ContainsSubstring("s left  second f32"));
}

}  // namespace
}  // namespace tunedgemm::internal
