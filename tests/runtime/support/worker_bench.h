#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal {

/// A folder with a cache, for tests of workers, and a compiler that breaks kernels. One at a time,
/// since it sets an environment variable.
class WorkerBench {
 public:
  WorkerBench() = default;
  ~WorkerBench();
  WorkerBench(const WorkerBench&) = delete;
  WorkerBench& operator=(const WorkerBench&) = delete;

  std::string cache() const { return folder_.path() / "cache.db"; }

  /// From now on the host's compiler is that of write_breaking_compiler.
  void break_kernels(const std::string& cases) const;

  /// The pids of the workers that use the cache.
  std::vector<pid_t> workers() const;

 private:
  TemporaryFolder folder_;
};

}  // namespace tunedgemm::internal
