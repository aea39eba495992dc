#pragma once

// CudaKernel: a module's kernel as the runtime launches it.

#include "runtime/cuda/module.h"
#include "runtime/device.h"

namespace tunedgemm::cuda {

/// Shared by all threads. The context must outlive it.
class CudaKernel final : public CompiledKernel {
 public:
  /// Throws DeviceError.
  CudaKernel(const PrimaryContext& context, const Binary& binary, const Launch& launch)
      : context_(context), module_(context, binary, launch.shared_bytes) {}

  /// A caller whose thread has the device's primary context current (whoever used the CUDA runtime
  /// on this device has) pays for cuLaunchKernelEx and nothing else. For others the driver refuses
  /// the launch, and it is repeated with the context pushed for its duration.
  int run(const Launch& launch, const Arguments& arguments,
          StreamHandle stream) const noexcept override;

 private:
  /// `arguments` are those of the kernel, which may compute D's transpose.
  int run_as_told(const Launch& launch, const Arguments& arguments,
                  StreamHandle stream) const noexcept;
  CUresult start(const Launch& launch, const Arguments& arguments,
                 StreamHandle stream) const noexcept;

  const PrimaryContext& context_;
  Module module_;
};

}  // namespace tunedgemm::cuda
