#pragma once

// DatabaseUse: under what SQLite is called. Private to cache.

#include "kernel_templates/base/file_size_signal.h"
#include "kernel_templates/base/process_fork.h"

namespace tunedgemm::internal {

/// SQLite's own locks must be free when another thread forks, since the child opens databases too;
/// and a file that grows past the process's limit is a full disk, which SQLite can take.
struct [[nodiscard]] DatabaseUse {
  ForkGuard no_fork;
  FileSizeSignalBlocked no_signal;
};

}  // namespace tunedgemm::internal
