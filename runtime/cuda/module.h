#pragma once

// Module: a compiled kernel loaded on the GPU. InterposedKernel: a small kernel that stands for the
// other kernels of a program, which run between its matrix products.

#include <string>

#include "cache/record.h"
#include "runtime/cuda/context.h"
#include "runtime/cuda/memory.h"

namespace tunedgemm::internal::cuda {

/// Shared by all threads. The context must outlive it.
class Module {
 public:
  /// Throws DeviceError, also if the cubin is damaged or for another architecture. `shared_bytes`
  /// is the most dynamic shared memory of a launch.
  Module(const PrimaryContext& context, const Binary& binary, std::uint32_t shared_bytes);
  /// The same from `image`: a complete ELF file, or the text of a PTX program, which the driver
  /// compiles. `what` names it in errors.
  Module(const PrimaryContext& context, const void* image, const std::string& entry,
         std::uint32_t shared_bytes, const std::string& what);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  CUfunction function() const { return function_; }
  /// Another kernel of the same cubin. Throws DeviceError.
  CUfunction function(const std::string& entry) const;

 private:
  const PrimaryContext& context_;
  CUmodule handle_ = nullptr;
  CUfunction function_ = nullptr;
};

/// One CTA per SM, in which each thread increments a word of memory. Used by one thread at a time.
/// The context must outlive it.
class InterposedKernel {
 public:
  /// Throws DeviceError.
  InterposedKernel(const PrimaryContext& context, int sm_count);

  /// Throws DeviceError.
  void launch(CUstream stream) const;

 private:
  const PrimaryContext& context_;
  unsigned ctas_;
  Memory words_;
  Module module_;
};

}  // namespace tunedgemm::internal::cuda
