#include "tests/tools/support/shell.h"

#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace tunedgemm::internal {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

ProgramResult Shell::run(const std::string& command_line) const {
  const std::string line = "cd " + folder().string() +
                           " && export TUNEDGEMM_CACHE=" + cache().string() + " && { " +
                           command_line + "\n} >output 2>errors";
  const int status = std::system(line.c_str());
  return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .output = text_of(folder() / "output"),
          .errors = text_of(folder() / "errors")};
}

ProgramResult Shell::run_on_terminal(const std::string& command_line, unsigned short columns,
                                     const std::string& interrupt_at) const {
  winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const std::string line = "cd " + folder().string() +
                           " && export TUNEDGEMM_CACHE=" + cache().string() + " && " + command_line;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  REQUIRE(child >= 0);
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  std::string output;
  bool interrupts = !interrupt_at.empty();
  std::array<char, 4096> bytes{};
  for (ssize_t count = 0; (count = read(terminal, bytes.data(), bytes.size())) > 0;) {
    output.append(bytes.data(), static_cast<std::size_t>(count));
    if (interrupts && output.find(interrupt_at) != std::string::npos) {
      interrupts = false;
      REQUIRE(write(terminal, "\x03", 1) == 1);
    }
  }
  close(terminal);
  int status = -1;
  waitpid(child, &status, 0);
  return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .output = output,
          .errors = ""};
}

}  // namespace tunedgemm::internal
