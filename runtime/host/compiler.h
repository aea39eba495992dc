#pragma once

// Compiler: the system's C++ compiler, which compiles host kernels to shared objects.

#include <chrono>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "kernel_templates/source.h"
#include "runtime/device.h"

namespace tunedgemm::internal {

/// One compiler of the system. A value type; threads may share it.
///
/// find() uses $TUNEDGEMM_CXX, else $CXX, else the first of c++, g++ and clang++ on the PATH. The
/// first word of a variable is the program; the other words are arguments. If the variable names no
/// program, there is no compiler, and why_not() says so.
class Compiler {
 public:
  /// `cpu_flags` are flags of every compilation (Processor::compiler_flags). Reads the environment
  /// and the file system; starts no process.
  static Compiler find(std::vector<std::string> cpu_flags);

  /// Empty if there is a compiler, else a sentence that names the programs tried and the remedy.
  const std::string& why_not() const { return why_not_; }

  /// "x86_64-linux-gnu-g++-12 1010360-1673456789": the name of the program with links resolved, its
  /// size and its modification time in seconds. This distinguishes versions without starting a
  /// process, because each version is another file. "none" if there is no compiler.
  const std::string& identity() const { return identity_; }

  /// Compiles in a private temporary folder, which is removed afterwards. The cause of a failure is
  /// kSource only if the compiler names an error at a line of the source. Otherwise, even if it
  /// only exits with an error, it is kEnvironment. Throws DeviceError if there is no compiler.
  std::variant<Binary, CompileFailure> compile(const Source& source,
                                               std::chrono::milliseconds limit) const;

 private:
  std::vector<std::string> command_;  // the program's path, then the arguments in the variable
  std::vector<std::string> cpu_flags_;
  std::string identity_ = "none";
  std::string why_not_;
};

}  // namespace tunedgemm::internal
