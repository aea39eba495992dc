#pragma once

// NVRTC in a separate process. Threads of one process hardly compile in parallel, because NVRTC
// holds a lock in its front end; processes do not share the lock. A compilation that crashes or
// hangs does not affect the caller, and can be stopped.
//
// The process runs a program of the same library version that passes its command line to
// run_compiler(). Both embed the same sources, so the command line contains only the name of a
// source.

#include <chrono>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "runtime/cuda/nvrtc.h"
#include "runtime/device.h"

namespace tunedgemm::internal::cuda {

/// Starts `command` (a path and first arguments) for one compilation and waits for it. A failed
/// compilation is a value, with the cause kSource if the compiler reports errors or crashes. Throws
/// std::system_error if the process cannot be started. Thread-safe.
std::variant<Binary, CompileFailure> compile_in_process(const std::vector<std::string>& command,
                                                        const NvrtcLocation& nvrtc,
                                                        const Source& source, int architecture,
                                                        std::chrono::milliseconds limit);

/// The main function of the process. `arguments` are those that follow `command`. Prints the log of
/// the compiler if the compilation fails.
int run_compiler(std::span<const char* const> arguments);

}  // namespace tunedgemm::internal::cuda
