#pragma once

// NVRTC in separate processes. Threads of one process hardly compile in parallel, because NVRTC
// holds a lock in its front end; processes do not share the lock. A compiler that crashes does not
// affect the caller, and a compiler that hangs can be stopped.
//
// The program that compiles must contain the same version of the library as the caller, and must
// pass its command line to run_compiler(). A request contains the name of a source but not its
// text, because both programs embed the sources.
//
// A request is one line; its fields are separated by tabs:
//
//     OUTPUT ARCHITECTURE exact|compatible FILE ENTRY NAME=VALUE...
//
// The answer is one line, after the lines of the compiler's log:
//
//     compiled          the machine code is in the file OUTPUT
//     rejected          the source does not compile
//     failed            NVRTC or the file system failed

#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "runtime/cuda/nvrtc.h"
#include "runtime/device.h"

namespace tunedgemm::internal::cuda {

/// Processes that compile, each one source after the other: loading NVRTC and its first compilation
/// cost as much as a small kernel. A process that is idle waits for the next source. Thread-safe.
class CompileProcesses {
 public:
  /// `command`: the path and the first arguments of the program that calls run_compiler().
  CompileProcesses(std::vector<std::string> command, NvrtcLocation nvrtc);
  /// Ends the processes.
  ~CompileProcesses();
  CompileProcesses(const CompileProcesses&) = delete;
  CompileProcesses& operator=(const CompileProcesses&) = delete;

  /// Compiles in an idle process, or starts one. Returns a CompileFailure if the compilation fails;
  /// the cause is kSource if the compiler reports errors or crashes. Throws std::system_error if a
  /// process cannot be started, or if there is no temporary folder for it.
  std::variant<Binary, CompileFailure> compile(const Source& source, int architecture,
                                               std::chrono::milliseconds limit);

 private:
  class Process;

  std::unique_ptr<Process> take();

  const std::vector<std::string> command_;  ///< with the arguments of run_compiler()
  std::mutex mutex_;
  std::vector<std::unique_ptr<Process>> idle_;
};

/// The main function of a compile process; returns its exit status. `arguments` are those after
/// `command`. Serves requests until the caller ends.
int run_compiler(std::span<const char* const> arguments);

}  // namespace tunedgemm::internal::cuda
