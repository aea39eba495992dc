#pragma once

#include <sys/types.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/tuning/worker_conversation.h"
#include "tests/support/breaking_compiler.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal {

/// A folder with a cache and a compiler that breaks kernels, for tests of workers. Only one may
/// exist at a time, since it sets an environment variable.
class WorkerBench {
 public:
  WorkerBench() = default;
  ~WorkerBench() { unsetenv("TUNEDGEMM_CXX"); }
  WorkerBench(const WorkerBench&) = delete;
  WorkerBench& operator=(const WorkerBench&) = delete;

  std::string cache() const { return folder_.path() / "cache.db"; }

  /// Makes write_breaking_compiler's wrapper the host's compiler.
  void break_kernels(const std::string& cases) const {
    const std::filesystem::path path = folder_.path() / "c++";
    write_breaking_compiler(path, cases);
    setenv("TUNEDGEMM_CXX", path.c_str(), 1);
  }

  /// The pids of the workers that use the cache.
  std::vector<pid_t> workers() const { return processes_with(std::string(kWorkerFlag), cache()); }

 private:
  TemporaryFolder folder_;
};

}  // namespace tunedgemm::internal
