#pragma once

// CublasLt: the vendor's library as a contender of a benchmark, opened at run time where it is
// installed.

#include <memory>
#include <string>
#include <vector>

#include "tools/baselines/baseline.h"
#include "tools/baselines/cublaslt_library.h"

namespace tunedgemm::internal {

/// Used by one thread, which must have the device's context current. Owns a workspace on the
/// device.
class CublasLt final : public Vendor {
 public:
  /// Null where the library cannot be opened or refuses the device; then `why_not` gets a sentence.
  /// Looks for $TUNEDGEMM_CUBLASLT, then what the loader finds, then beside the CUDA toolkit.
  static std::unique_ptr<CublasLt> open(Device& device, std::string* why_not);
  ~CublasLt() override;
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  std::string name() const override { return "cuBLASLt"; }
  std::string version() const override;
  std::string short_name() const override { return "cublaslt"; }
  /// None for a fused activation or bias, emulated f32, and fp8 in a layout other than "nt".
  std::vector<std::unique_ptr<CompiledKernel>> proposals(const Problem& problem, double scale,
                                                         int count, std::string* why_not) override;

 private:
  CublasLt(std::unique_ptr<CublasLtLibrary> library, std::unique_ptr<DeviceMemory> workspace);
  std::unique_ptr<CublasLtLibrary> library_;
  std::unique_ptr<DeviceMemory> workspace_;
};

}  // namespace tunedgemm::internal
