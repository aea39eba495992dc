#include "tests/support/breaking_compiler.h"

#include <fstream>

namespace tunedgemm::internal {

namespace fs = std::filesystem;

void write_breaking_compiler(const fs::path& path, const std::string& cases,
                             const std::string& only) {
  std::ofstream(path) << "#!/bin/sh\n"
                         "all=\"$*\"\n"
                         "case \"$all\" in *"
                      << only
                      << "*) ;; *) exec c++ \"$@\" ;; esac\n"
                         "name=$(basename \"${all##* }\" .cc)\n"
                         "[ $name = kernel ] && name=blocked\n"
                         "object=${all##* -o }\n"
                         "make() {\n"
                         "  echo \"extern \\\"C\\\" void tunedgemm_$name() { $1; }\" |\n"
                         "    c++ -x c++ -shared -fPIC -o \"${object%% *}\" -\n"
                         "  exit\n"
                         "}\n"
                         "case \"$name $all\" in\n"
                      << cases << "\nesac\nexec c++ \"$@\"\n";
  fs::permissions(path, fs::perms::owner_all);
}

std::vector<pid_t> processes_with(const std::string& one, const std::string& other) {
  std::vector<pid_t> pids;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline");
    std::string line;
    std::getline(file, line);  // fails, without an exception, if the process ends meanwhile
    if (line.find(one) != std::string::npos && line.find(other) != std::string::npos) {
      pids.push_back(std::stoi(entry.path().filename()));
    }
  }
  return pids;
}

}  // namespace tunedgemm::internal
