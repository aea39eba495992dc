#pragma once

// Vendor: somebody else's library, as contenders of a benchmark.

#include <memory>
#include <string>
#include <vector>

#include "runtime/device.h"

namespace tunedgemm::internal {

/// Used by one thread, which must have the device's context current.
class Vendor {
 public:
  virtual ~Vendor() = default;

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

/// The one for this device: cuBLASLt for CUDA, OpenBLAS for the host. Null where there is none, or
/// it is not installed; then `why_not` gets a sentence.
std::unique_ptr<Vendor> open_vendor(Device& device, std::string* why_not);

}  // namespace tunedgemm::internal
