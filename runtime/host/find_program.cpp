#include "runtime/host/find_program.h"

#include <unistd.h>

#include <sstream>
#include <system_error>

#include "kernel_templates/base/environment.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;

bool runs(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

fs::path find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return runs(name) ? fs::path(name) : fs::path();
  }
  std::istringstream folders(program_folders());
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (fs::path path = fs::path(folder) / name; !folder.empty() && runs(path)) {
      return path;
    }
  }
  return {};
}

}  // namespace tunedgemm::internal
