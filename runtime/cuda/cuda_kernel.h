#pragma once

// CudaKernel: a kernel that is loaded on a GPU and can be launched.

#include "runtime/cuda/module.h"
#include "runtime/cuda/stream_capture.h"
#include "runtime/device.h"

namespace tunedgemm::internal::cuda {

/// Shared by all threads. The context and the set of triggering kernels must outlive it. A kernel
/// that lets its successor start early is in that set while it lives.
class CudaKernel final : public CompiledKernel {
 public:
  /// Throws DeviceError.
  CudaKernel(const PrimaryContext& context, TriggeringKernels& triggering_kernels,
             const Binary& binary, const Launch& launch);
  ~CudaKernel() override;
  CudaKernel(const CudaKernel&) = delete;
  CudaKernel& operator=(const CudaKernel&) = delete;

  /// Launches without asking which context is current, because that is the primary context in every
  /// thread that has used the CUDA runtime on this device. In other threads the driver refuses the
  /// launch; the function then pushes the context and launches again.
  int run(const Launch& launch, const Arguments& arguments,
          StreamHandle stream) const noexcept override;

 private:
  /// `arguments` are in the kernel's order: A and B are already swapped if the kernel computes the
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
