#pragma once

// Baseline: another library, opened at run time where it is installed, as contenders of a benchmark.

#include <memory>
#include <string>
#include <vector>

#include "runtime/device.h"

namespace tunedgemm::internal {

/// Used by one thread, which must have the device's context current.
class Baseline {
 public:
  virtual ~Baseline() = default;

  /// "cuBLASLt", and "13.1.0".
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  /// How contenders are called, before their numbers: "cublaslt".
  virtual std::string short_name() const = 0;

  /// The library's proposals for the canonical problem, its default first, at most `count`. They
  /// take the same Arguments as our kernels, but do not look at the scales in them: `scale`, the
  /// product of both, takes part in their alpha (1 for inputs that have no scales). Empty if it
  /// does not compute the problem; then `why_not` gets half a sentence about it. They must not
  /// outlive this object.
  virtual std::vector<std::unique_ptr<CompiledKernel>> proposals(const Problem& problem,
                                                                 double scale, int count,
                                                                 std::string* why_not) = 0;
};

// Each null where the library is not installed or refuses the device; then `why_not` gets a sentence.

/// The one for this device: cuBLASLt for CUDA, OpenBLAS for the host.
std::unique_ptr<Baseline> open_baseline(Device& device, std::string* why_not);

/// Looks for $TUNEDGEMM_CUBLASLT, then what the loader finds, then beside the CUDA toolkit. Owns a
/// workspace on the device. Computes no fused activation or bias, no emulated f32, and fp8 in
/// layout "nt" alone.
std::unique_ptr<Baseline> open_cublaslt(Device& device, std::string* why_not);

/// Computes f32 and f64 without a bias and an activation, with so many threads. Picks its kernels
/// while it is loaded, by $OPENBLAS_CORETYPE or what it takes the CPU for.
std::unique_ptr<Baseline> open_openblas(int threads, std::string* why_not);

}  // namespace tunedgemm::internal
