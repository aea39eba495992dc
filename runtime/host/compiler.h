#pragma once

// Compiler: the system's C++ compiler, as it makes shared objects of host kernels.

#include <chrono>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "kernel_templates/source.h"
#include "runtime/device.h"

namespace tunedgemm::internal {

/// A value that names one compiler, found once. Threads may share it.
///
/// Searched for: $TUNEDGEMM_CXX, else $CXX (the first word is the program, the others are passed
/// on), else c++, g++ or clang++ on the PATH. A variable that names no program is not ignored:
/// there is then no compiler, and why_not says so.
class Compiler {
 public:
  /// Looks at the environment and the file system; starts nothing.
  static Compiler find();

  /// Empty if there is a compiler, else a sentence: what was looked for, and what to do.
  const std::string& why_not() const { return why_not_; }

  /// "x86_64-linux-gnu-g++-12 1010360-1673456789": the program's own name, links followed, with its
  /// size and the second of its last change. Another version is another file, so nothing has to be
  /// started to tell versions apart. "none" where there is no compiler.
  const std::string& identity() const { return identity_; }

  /// How long it may take in any case: a starved machine may need a hundred times the usual second.
  static constexpr std::chrono::seconds kLongest{300};

  /// Compiles in a private temporary folder that is gone afterwards, for the CPU of this machine. A
  /// compiler that cannot be started, that takes longer than the limit, or that has no folder to
  /// work in is a failure of the environment. Throws DeviceError if there is no compiler.
  std::variant<Binary, CompileFailure> compile(const Source& source,
                                               std::chrono::milliseconds limit) const;

 private:
  std::vector<std::string> command_;  // the program's path, and what $CXX wants before the rest
  std::string identity_ = "none";
  std::string why_not_;
};

}  // namespace tunedgemm::internal
