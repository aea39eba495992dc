#pragma once

// CublasLt: the vendor's library as an arm of a benchmark, opened at run time where it is
// installed.

#include <memory>
#include <string>
#include <vector>

#include "runtime/device.h"
#include "tools/vendor/cublaslt_library.h"

namespace tunedgemm {

/// Used by one thread, which must have the device's context current. Owns a workspace on the
/// device.
class CublasLt {
 public:
  /// Null where the library cannot be opened or refuses the device; then `why_not` gets a sentence.
  /// Looks for $TUNEDGEMM_CUBLASLT, then what the loader finds, then beside the CUDA toolkit.
  static std::unique_ptr<CublasLt> open(Device& device, std::string* why_not);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  /// The library's proposals for the canonical problem, its default first, at most `count`. They
  /// take the same Arguments as our kernels, but do not look at the scales in them: `scale`, the
  /// product of both, takes part in their alpha (1 for inputs that have no scales). Empty if it
  /// does not compute the problem (a fused activation or bias, emulated f32, fp8 in a layout other
  /// than "nt"); then `why_not` gets half a sentence about it. They must not outlive this object.
  std::vector<std::unique_ptr<CompiledKernel>> proposals(const Problem& problem, double scale,
                                                         int count, std::string* why_not);

  /// "13.1.0".
  std::string version() const;

 private:
  CublasLt(std::unique_ptr<CublasLtLibrary> library, std::unique_ptr<DeviceMemory> workspace);
  std::unique_ptr<CublasLtLibrary> library_;
  std::unique_ptr<DeviceMemory> workspace_;
};

}  // namespace tunedgemm
