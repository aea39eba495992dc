#pragma once

// Nvrtc: NVIDIA's run-time compiler, opened when the first source must be compiled. Sources become
// cubins: machine code for one architecture, which the driver loads without compiling anything.

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "runtime/cuda/nvrtc_location.h"
#include "runtime/device.h"

namespace tunedgemm::internal::cuda {

/// Thread-safe: several threads may compile at once.
class Nvrtc {
 public:
  /// Loads the library. Throws DeviceError(kUnavailable).
  explicit Nvrtc(const NvrtcLocation& location);
  ~Nvrtc();
  Nvrtc(const Nvrtc&) = delete;
  Nvrtc& operator=(const Nvrtc&) = delete;

  /// For a device of that compute capability (90: sm_90, or sm_90a where the source needs exactly
  /// that). A source that does not compile, or whose assembly the compiler had to serialise, is a
  /// value with the log. Throws DeviceError if the compiler itself fails.
  std::variant<Binary, CompileFailure> compile(const Source& source, int architecture) const;

 private:
  struct Functions;

  std::string architecture_option(const Source& source, int architecture) const;

  NvrtcLocation location_;
  std::unique_ptr<const Functions> functions_;
  std::vector<int> supported_;
};

}  // namespace tunedgemm::internal::cuda
