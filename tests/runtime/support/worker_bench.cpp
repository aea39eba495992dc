#include "tests/runtime/support/worker_bench.h"

#include <cstdlib>
#include <filesystem>

#include "runtime/process/worker_process.h"
#include "tests/support/breaking_compiler.h"

namespace tunedgemm::internal {

WorkerBench::~WorkerBench() {
  unsetenv("TUNEDGEMM_CXX");
}

void WorkerBench::break_kernels(const std::string& cases) const {
  const std::filesystem::path path = folder_.path() / "c++";
  write_breaking_compiler(path, cases);
  setenv("TUNEDGEMM_CXX", path.c_str(), 1);
}

std::vector<pid_t> WorkerBench::workers() const {
  return processes_with(std::string(kWorkerFlag), cache());
}

}  // namespace tunedgemm::internal
