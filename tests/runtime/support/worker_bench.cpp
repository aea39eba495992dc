#include "tests/runtime/support/worker_bench.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runtime/worker_process.h"

namespace tunedgemm {

namespace fs = std::filesystem;

WorkerBench::~WorkerBench() {
  unsetenv("TUNEDGEMM_CXX");
}

void WorkerBench::break_kernels(const std::string& cases) const {
  const fs::path path = folder_.path() / "c++";
  std::ofstream(path) << "#!/bin/sh\n"
                         "all=\"$*\"\n"
                         "name=$(basename \"${all##* }\" .cc)\n"
                         "[ $name = kernel ] && name=blocked\n"
                         "object=${all##* -o }\n"
                         "make() {\n"
                         "  echo \"extern \\\"C\\\" void tunedgemm_$name() { $1; }\" |\n"
                         "    c++ -x c++ -shared -fPIC -o \"${object%% *}\" -\n"
                         "  exit\n"
                         "}\n"
                         "case \"$all\" in\n"
                      << cases << "\nesac\nexec c++ \"$@\"\n";
  fs::permissions(path, fs::perms(0700));
  setenv("TUNEDGEMM_CXX", path.c_str(), 1);
}

std::vector<pid_t> WorkerBench::workers() const {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline");
    std::string line;
    std::getline(file, line);  // with what ends meanwhile this fails, and nothing throws
    if (line.find(kBeWorker) != std::string::npos && line.find(cache()) != std::string::npos) {
      found.push_back(std::stoi(entry.path().filename()));
    }
  }
  return found;
}

}  // namespace tunedgemm
