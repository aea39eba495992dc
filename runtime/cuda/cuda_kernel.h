#pragma once

// CudaKernel: a module's kernel as the runtime launches it.

#include "runtime/cuda/module.h"
#include "runtime/cuda/stream_capture.h"
#include "runtime/device.h"

namespace tunedgemm::internal::cuda {

/// Shared by all threads. The context and the set of kernels, which it is one of if it lets the next
/// one start early, must outlive it.
class CudaKernel final : public CompiledKernel {
 public:
  /// Throws DeviceError.
  CudaKernel(const PrimaryContext& context, TriggeringKernels& triggering_kernels,
             const Binary& binary, const Launch& launch);
  ~CudaKernel() override;
  CudaKernel(const CudaKernel&) = delete;
  CudaKernel& operator=(const CudaKernel&) = delete;

  /// A caller whose thread has the device's primary context current (whoever used the CUDA runtime
  /// on this device has) pays for cuLaunchKernelEx and nothing else. For others the driver refuses
  /// the launch, and it is repeated with the context pushed for its duration.
  int run(const Launch& launch, const Arguments& arguments,
          StreamHandle stream) const noexcept override;

 private:
  /// `arguments` are those of the kernel, which may compute D's transpose.
  int run_as_told(const Launch& launch, const Arguments& arguments,
                  StreamHandle stream) const noexcept;
  CUresult start_prologue(const Launch& launch, const Arguments& arguments,
                          CUstream stream) const noexcept;
  CUresult start(const Launch& launch, const Arguments& arguments,
                 StreamHandle stream) const noexcept;
  bool is_programmatic(const Launch& launch, CUstream stream) const noexcept;

  const PrimaryContext& context_;
  TriggeringKernels& triggering_kernels_;
  Module module_;
  CUfunction prologue_ = nullptr;  // null where the launch has none
};

}  // namespace tunedgemm::internal::cuda
