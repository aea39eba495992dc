#pragma once

// NVRTC in separate processes. Threads of one process hardly compile in parallel, because NVRTC
// holds a lock in its front end; processes do not share the lock. A compiler that crashes does not
// affect the caller, and a compiler that hangs can be stopped.
//
// The program that compiles must contain the same version of the library as the caller, and must
// pass its command line to run_compiler(). A request contains the name of a source but not its
// text, because both programs embed the sources. Its fingerprint says whether they agree.
//
// A request is one line; its fields are separated by tabs:
//
//     OUTPUT FINGERPRINT ARCHITECTURE exact|compatible FILE ENTRY NAME=VALUE...
//
// The answer is one line, after the lines of the compiler's log:
//
//     compiled          the machine code is in the file OUTPUT
//     rejected          the source does not compile
//     failed            NVRTC or the file system failed
//     other             the program embeds other sources

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include "runtime/cuda/nvrtc.h"
#include "runtime/device.h"

namespace tunedgemm::internal::cuda {

/// Processes that compile, each one source after the other: loading NVRTC and its first compilation
/// cost as much as a small kernel. A process that is idle waits for the next source. All end when
/// none has been used for `most_idle`. Thread-safe.
class CompileProcesses {
 public:
  static constexpr std::chrono::milliseconds kMostIdle{20'000};

  /// `command`: the path and the first arguments of the program that calls run_compiler().
  CompileProcesses(std::vector<std::string> command, NvrtcLocation nvrtc,
                   std::chrono::milliseconds most_idle = kMostIdle);
  /// Ends the processes.
  ~CompileProcesses();
  CompileProcesses(const CompileProcesses&) = delete;
  CompileProcesses& operator=(const CompileProcesses&) = delete;

  /// Compiles in an idle process, or starts one. Returns a CompileFailure if the compilation fails;
  /// the cause is kSource if the compiler reports errors or crashes. Throws std::system_error if a
  /// process cannot be started, or if there is no temporary folder for it; another
  /// std::runtime_error, from then on, if the program is one of another version.
  std::variant<Binary, CompileFailure> compile(const Source& source, int architecture,
                                               std::chrono::milliseconds limit);

 private:
  class Process;

  using Processes = std::vector<std::unique_ptr<Process>>;

  std::unique_ptr<Process> take();
  void put_back(std::unique_ptr<Process> process);
  void end_idle_ones();
  static void end(Processes& processes);

  const std::vector<std::string> command_;  ///< with the arguments of run_compiler()
  const std::chrono::milliseconds most_idle_;
  std::atomic<bool> is_other_version_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  Processes idle_;
  std::chrono::steady_clock::time_point last_use_;
  bool is_closing_ = false;
  std::optional<std::thread> ender_;  ///< calls end_idle_ones()
  bool has_ender_ = false;            ///< false: ender_ has ended, or never begun
};

/// The first argument of `tunedgemm` and `tune-all`, after which run_compiler()'s follow.
inline constexpr std::string_view kCompilerFlag = "--compile-kernel";

/// The command of the `tunedgemm` that is installed with the library at this path: in the folder
/// bin beside it, as the Python package has it, or one or two folders up. Empty if there is none,
/// or if the path is not absolute.
std::vector<std::string> compiler_installed_with(const std::filesystem::path& library);
/// The same for this library.
std::vector<std::string> installed_compiler();

/// The main function of a compile process; returns its exit status. `arguments` are those after
/// `command`. Serves requests until the caller ends.
int run_compiler(std::span<const char* const> arguments);

}  // namespace tunedgemm::internal::cuda
