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

/// A value that identifies one compiler. Threads may share it.
///
/// Searches $TUNEDGEMM_CXX, else $CXX (the first word is the program, the others are arguments),
/// else c++, g++ and clang++ on the PATH. If a variable is set but does not name a program, there
/// is no compiler, and why_not says so.
class Compiler {
 public:
  /// Reads the environment and the file system; starts no process.
  static Compiler find();

  /// Empty if there is a compiler, else a sentence that says what was searched and what to do.
  const std::string& why_not() const { return why_not_; }

  /// "x86_64-linux-gnu-g++-12 1010360-1673456789": the name of the program with links resolved, its
  /// size and its modification time in seconds. Another version is another file, so no process is
  /// needed to distinguish versions. "none" if there is no compiler.
  const std::string& identity() const { return identity_; }

  /// Compiles for the CPU of this machine in a private temporary folder, which is removed
  /// afterwards. A compiler that cannot be started, exceeds the limit, or has no folder to work in
  /// counts as a failure of the environment. Throws DeviceError if there is no compiler.
  std::variant<Binary, CompileFailure> compile(const Source& source,
                                               std::chrono::milliseconds limit) const;

 private:
  std::vector<std::string> command_;  // path of the program, arguments of $CXX
  std::string identity_ = "none";
  std::string why_not_;
};

}  // namespace tunedgemm::internal
