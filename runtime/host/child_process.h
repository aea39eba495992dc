#pragma once

// Runs a program without a shell, and reads what it says.

#include <chrono>
#include <string>
#include <vector>

namespace tunedgemm {

struct ChildResult {
  enum class End { kExited, kSignalled, kTimedOut };
  End end = End::kExited;
  int code = 0;        ///< the exit status, or the signal's number
  std::string output;  ///< standard output and standard error, at most 64 KiB
};

/// Starts `arguments[0]` (a path) with the arguments and this process's environment, its standard
/// input empty, in a process group of its own, which is killed when the time is over. Returns when
/// the program has ended. Throws std::system_error if it cannot be started.
ChildResult run_child(const std::vector<std::string>& arguments, std::chrono::milliseconds limit);

}  // namespace tunedgemm
