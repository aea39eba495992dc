#pragma once

// Baseline: another library whose kernels are contenders of a benchmark. It is opened at run time,
// if it is installed.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/device.h"
#include "runtime/evaluation/operands.h"

namespace tunedgemm::internal {

/// A kernel, or a way to call the library.
struct Proposal {
  std::string name;  ///< "cublaslt 0" (cuBLASLt's default), "cublaslt 1" ..., "cublas"
  std::unique_ptr<CompiledKernel> kernel;
};

/// Used by one thread. The device's context must be current in that thread.
class Baseline {
 public:
  virtual ~Baseline() = default;

  /// For example "cuBLASLt".
  virtual std::string name() const = 0;
  /// For example "13.1.0".
  virtual std::string version() const = 0;

  /// The library's proposals for the problem, its default first, at most `count`, then its other
  /// ways of calling it. They take the same Arguments as our kernels, but read scales that they
  /// have copied from `verified` to the library's own layout. Empty if the library does not support
  /// the problem; `why_not` then gets the reason, as a clause. The proposals must not outlive this
  /// object. One thread at a time may run those for one problem.
  virtual std::vector<Proposal> proposals(const VerifiedProblem& verified, int count,
                                          std::string* why_not) = 0;
};

// Each function returns null and sets `why_not` if the library is not installed or refuses the
// device.

/// The option for the baseline of a backend: "cublas" for CUDA, "openblas" for the host, else "".
std::string_view name_of_baseline(std::string_view backend);

/// The baseline of this device: cuBLASLt for CUDA, OpenBLAS for the host.
std::unique_ptr<Baseline> open_baseline(Device& device, std::string* why_not);

/// Tries $TUNEDGEMM_CUBLASLT, then the loader's search path, then the CUDA toolkit's folder. The
/// baseline owns a workspace on the device. It fuses relu, gelu_tanh and a bias per column, has no
/// emulated f32, and fp8 only in layout "nt". If libcublas lies beside it, its proposals end with
/// the call cublasGemmEx, which has kernels for one row that cuBLASLt lacks; it fuses nothing, has
/// no fp8, and updates C in place.
std::unique_ptr<Baseline> open_cublaslt(Device& device, std::string* why_not);

/// Opens $TUNEDGEMM_OPENBLAS, or else libopenblas.so.0. Supports f32 and f64 without bias and
/// activation. Uses the given number of threads. OpenBLAS
/// picks its kernels when it is loaded, by $OPENBLAS_CORETYPE or by the CPU that it detects.
std::unique_ptr<Baseline> open_openblas(int threads, std::string* why_not);

}  // namespace tunedgemm::internal
