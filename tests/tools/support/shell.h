#pragma once

// Shell: runs programs as a person would, in a folder of their own with a cache of their own.

#include <filesystem>
#include <string>

#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal {

struct ProgramResult {
  int status = -1;  ///< the exit status, or 128 + the signal
  std::string output;
  std::string errors;
};

/// Used by one thread.
class Shell {
 public:
  /// Runs the command line in the folder with $TUNEDGEMM_CACHE = cache().
  ProgramResult run(const std::string& command_line) const;

  const std::filesystem::path& folder() const { return folder_.path(); }
  std::filesystem::path cache() const { return folder() / "cache.db"; }

 private:
  TemporaryFolder folder_;
};

}  // namespace tunedgemm::internal
