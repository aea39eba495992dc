#pragma once

// NVRTC in a process of its own. The threads of one process compile hardly faster than one of them,
// since NVRTC runs its front end under a lock; processes do not share it. One that crashes or never
// ends takes nothing with it, and can be stopped.
//
// The process is a program that hands its command line to run_compiler(), of the same version of
// the library: a source is one of those that are embedded in both, and only its name is handed over.

#include <chrono>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "runtime/cuda/nvrtc.h"
#include "runtime/device.h"

namespace tunedgemm::internal::cuda {

/// Starts `command` (a path and first arguments) for one compilation, and waits for it. A failed
/// compilation is a value, of the cause kSource if the compiler says so or crashes. Throws
/// std::system_error if the process cannot be started. Any thread may call it.
std::variant<Binary, CompileFailure> compile_in_process(const std::vector<std::string>& command,
                                                        const NvrtcLocation& nvrtc,
                                                        const Source& source, int architecture,
                                                        std::chrono::milliseconds limit);

/// The program, for main to return its exit status. `arguments` are those behind the command's own.
/// Prints the compiler's log where it fails.
int run_compiler(std::span<const char* const> arguments);

}  // namespace tunedgemm::internal::cuda
