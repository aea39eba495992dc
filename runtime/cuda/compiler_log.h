#pragma once

// What the assembler (ptxas -v) says about a kernel, read from the compiler's log.

#include <cstdint>
#include <string>
#include <string_view>

namespace tunedgemm::internal::cuda {

struct CompilerFigures {
  int registers = 0;              ///< of a thread
  std::int64_t shared_bytes = 0;  ///< static shared memory
  std::int64_t spill_bytes = 0;   ///< stores and loads
  /// The line by which the assembler gave up what the kernel relies on (C7500 to C7599: wgmma
  /// serialised, setmaxnreg ignored), else empty.
  std::string given_up;
};

/// Sums over all functions that the log speaks of; registers are the greatest.
CompilerFigures parse_compiler_log(std::string_view log);

}  // namespace tunedgemm::internal::cuda
