#pragma once

// Baseline: another library whose kernels are contenders of a benchmark. It is opened at run time,
// if it is installed.

#include <memory>
#include <string>
#include <vector>

#include "runtime/device.h"
#include "runtime/evaluation/operands.h"

namespace tunedgemm::internal {

/// Used by one thread. The device's context must be current in that thread.
class Baseline {
 public:
  virtual ~Baseline() = default;

  /// For example "cuBLASLt".
  virtual std::string name() const = 0;
  /// For example "13.1.0".
  virtual std::string version() const = 0;
  /// For example "cublaslt"; the contenders are then named "cublaslt 0", "cublaslt 1" ...
  virtual std::string short_name() const = 0;

  /// The library's proposals for the problem, its default first, at most `count`. They take the
  /// same Arguments as our kernels, but read scales that they have copied from `verified` to the
  /// library's own layout. Empty if the library does not support the problem; `why_not` then gets
  /// the reason, as a clause. The proposals must not outlive this object.
  virtual std::vector<std::unique_ptr<CompiledKernel>> proposals(const VerifiedProblem& verified,
                                                                 int count,
                                                                 std::string* why_not) = 0;
};

// Each function returns null and sets `why_not` if the library is not installed or refuses the
// device.

/// The baseline of this device: cuBLASLt for CUDA, OpenBLAS for the host.
std::unique_ptr<Baseline> open_baseline(Device& device, std::string* why_not);

/// Tries $TUNEDGEMM_CUBLASLT, then the loader's search path, then the CUDA toolkit's folder. The
/// baseline owns a workspace on the device. It supports no fused activation or bias, no emulated
/// f32, and fp8 only in layout "nt".
std::unique_ptr<Baseline> open_cublaslt(Device& device, std::string* why_not);

/// Supports f32 and f64 without bias and activation. Uses the given number of threads. OpenBLAS
/// picks its kernels when it is loaded, by $OPENBLAS_CORETYPE or by the CPU that it detects.
std::unique_ptr<Baseline> open_openblas(int threads, std::string* why_not);

}  // namespace tunedgemm::internal
