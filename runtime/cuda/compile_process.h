#pragma once

// NVRTC in a separate process. Threads of one process hardly compile in parallel, because NVRTC
// holds a lock in its front end; processes do not share the lock. A compiler that crashes does not
// affect the caller, and a compiler that hangs can be stopped.
//
// The program that compiles must contain the same version of the library as the caller, and must
// pass its command line to run_compiler(). The command line contains the name of a source but not
// its text, because both programs embed the sources.

#include <chrono>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "runtime/cuda/nvrtc.h"
#include "runtime/device.h"

namespace tunedgemm::internal::cuda {

/// Starts `command` (a path and first arguments) for one compilation and waits for its end. Returns
/// a CompileFailure if the compilation fails; the cause is kSource if the compiler reports errors
/// or crashes. Throws std::system_error if the process cannot be started, or if there is no
/// temporary folder for it. Thread-safe.
std::variant<Binary, CompileFailure> compile_in_process(const std::vector<std::string>& command,
                                                        const NvrtcLocation& nvrtc,
                                                        const Source& source, int architecture,
                                                        std::chrono::milliseconds limit);

/// The main function of the compile process; returns its exit status. `arguments` are those after
/// `command`. Prints the compiler's log if the compilation fails.
int run_compiler(std::span<const char* const> arguments);

}  // namespace tunedgemm::internal::cuda
