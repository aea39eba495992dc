#include "runtime/cuda/triggering_kernels.h"

#include "runtime/cuda/stream_capture.h"

namespace tunedgemm::internal::cuda {

void TriggeringKernels::add(CUfunction kernel) {
  const std::scoped_lock lock(mutex_);
  kernels_.insert(kernel);
}

void TriggeringKernels::remove(CUfunction kernel) noexcept {
  const std::scoped_lock lock(mutex_);
  kernels_.erase(kernel);
}

bool TriggeringKernels::contains(CUfunction kernel) const {
  const std::scoped_lock lock(mutex_);
  return kernels_.count(kernel) > 0;
}

bool TriggeringKernels::one_was_captured_last(const Driver& driver,
                                              CUstream stream) const noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (driver.cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
      status != CU_STREAM_CAPTURE_STATUS_ACTIVE) [[likely]] {
    return false;
  }
  const CUgraphNode last = last_captured_node(driver, stream);
  CUgraphNodeType type{};
  CUDA_KERNEL_NODE_PARAMS parameters{};
  return last != nullptr && driver.cuGraphNodeGetType(last, &type) == CUDA_SUCCESS &&
         type == CU_GRAPH_NODE_TYPE_KERNEL &&
         driver.cuGraphKernelNodeGetParams(last, &parameters) == CUDA_SUCCESS &&
         contains(parameters.func);
}

}  // namespace tunedgemm::internal::cuda
