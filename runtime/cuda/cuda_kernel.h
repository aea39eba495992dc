#pragma once

// CudaKernel: a kernel of a module as the runtime launches it.

#include "runtime/cuda/module.h"
#include "runtime/cuda/stream_capture.h"
#include "runtime/device.h"

namespace tunedgemm::internal::cuda {

/// Shared by all threads. The context and the set of triggering kernels must outlive it; the set
/// contains this kernel if it lets its successor start early.
class CudaKernel final : public CompiledKernel {
 public:
  /// Throws DeviceError.
  CudaKernel(const PrimaryContext& context, TriggeringKernels& triggering_kernels,
             const Binary& binary, const Launch& launch);
  ~CudaKernel() override;
  CudaKernel(const CudaKernel&) = delete;
  CudaKernel& operator=(const CudaKernel&) = delete;

  /// A thread with the primary context current, such as one that has used the CUDA runtime on this
  /// device, pays only for cuLaunchKernelEx. For other threads the driver refuses the launch, and
  /// it is repeated with the context pushed.
  int run(const Launch& launch, const Arguments& arguments,
          StreamHandle stream) const noexcept override;

 private:
  /// `arguments` are those of the kernel, with operands already swapped if it computes the
  /// transpose of D.
  int launch_in_context(const Launch& launch, const Arguments& arguments,
                        StreamHandle stream) const noexcept;
  CUresult start_prologue(const Launch& launch, const Arguments& arguments,
                          CUstream stream) const noexcept;
  CUresult start(const Launch& launch, const Arguments& arguments,
                 StreamHandle stream) const noexcept;
  bool is_programmatic(const Launch& launch, CUstream stream) const noexcept;

  const PrimaryContext& context_;
  TriggeringKernels& triggering_kernels_;
  Module module_;
  CUfunction prologue_ = nullptr;  // null if the launch has none
};

}  // namespace tunedgemm::internal::cuda
