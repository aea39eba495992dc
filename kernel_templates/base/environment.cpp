#include "kernel_templates/base/environment.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>

namespace tunedgemm::internal {
namespace {

constexpr const char* kSystemFolders = "/usr/local/bin:/usr/bin:/bin";

bool is_the_callers_own() {
  return getauxval(AT_SECURE) == 0;
}

}  // namespace

std::string environment(const char* name) {
  const char* value = is_the_callers_own() ? std::getenv(name) : nullptr;
  return value != nullptr ? value : "";
}

std::string program_folders() {
  const std::string path = environment("PATH");
  return path.empty() ? kSystemFolders : path;
}

std::vector<std::string> environment_of_children() {
  if (!is_the_callers_own()) {
    return {"PATH=" + program_folders()};
  }
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    entries.emplace_back(*entry);
  }
  return entries;
}

}  // namespace tunedgemm::internal
