#pragma once

// Runs a program without a shell, reads what it says, and leaves nothing of it behind.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tunedgemm {

struct ChildResult {
  enum class End { kExited, kSignalled, kTimedOut };
  End end = End::kExited;
  int code = 0;        ///< the exit status, or the signal's number
  std::string output;  ///< standard output and standard error, at most 64 KiB
};

struct ChildLimits {
  std::chrono::milliseconds time;
  /// Of each file that the program and its children write.
  std::int64_t file_bytes = std::int64_t{64} << 20;
};

/// Starts `arguments[0]` (a path) with the arguments, its standard input empty. Its environment is
/// this process's, in which the `variables` ("NAME=value") are set. Returns when the program has
/// ended or its time is over. It is the leader of a process group, which does not survive it: what
/// is left of the group is killed when the program ends, when its time is over, and when this
/// process dies. Throws std::system_error if it cannot be started.
ChildResult run_child(const std::vector<std::string>& arguments, const ChildLimits& limits,
                      const std::vector<std::string>& variables = {});

}  // namespace tunedgemm
