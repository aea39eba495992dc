#pragma once

// OtherKernel: a small kernel that belongs to nobody, as a program has them between matrix
// products.

#include "runtime/cuda/memory.h"
#include "runtime/cuda/module.h"

namespace tunedgemm::internal::cuda {

/// One block an SM, in which each thread counts a word of memory up. Used by one thread at a time.
/// The context must outlive it.
class OtherKernel {
 public:
  /// Throws DeviceError.
  OtherKernel(const PrimaryContext& context, int sm_count);

  /// Throws DeviceError.
  void launch(CUstream stream) const;

 private:
  const PrimaryContext& context_;
  unsigned blocks_;
  Memory words_;
  Module module_;
};

}  // namespace tunedgemm::internal::cuda
