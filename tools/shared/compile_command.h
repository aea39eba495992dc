#pragma once

// The tools compile in processes of their own program, see runtime/cuda/compile_process.h.

#include <optional>
#include <string>
#include <vector>

namespace tunedgemm {

/// What starts this program as a compiler: ContextOptions::compile_command.
std::vector<std::string> compile_command();

/// The exit status, if the program was started so: main does this first, and nothing else then.
std::optional<int> compile_if_told(int argc, const char* const* argv);

}  // namespace tunedgemm
