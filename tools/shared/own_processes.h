#pragma once

// What the tools start themselves as: compilers (runtime/cuda/compile_process.h) and, tune-all,
// workers (runtime/process/worker_process.h).

#include <optional>
#include <string>
#include <vector>

namespace tunedgemm::internal {

/// What starts this program as a compiler: ContextOptions::compile_command.
std::vector<std::string> compile_command();
/// What starts this program as a worker: ContextOptions::worker_command.
std::vector<std::string> worker_command();

/// The exit status, if the program was started so: main does this first, and nothing else then.
std::optional<int> compile_if_told(int argc, const char* const* argv);
std::optional<int> work_if_told(int argc, const char* const* argv);

}  // namespace tunedgemm::internal
