#include "tests/tools/support/shell.h"

#include <sys/wait.h>

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

}  // namespace tunedgemm::internal
