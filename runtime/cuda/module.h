#pragma once

// Module: a compiled kernel loaded on the GPU. InterposedKernel: a small kernel that stands for the
// kernels that a program runs between its matrix products.

#include <string>

#include "cache/record.h"
#include "runtime/cuda/context.h"
#include "runtime/cuda/memory.h"

namespace tunedgemm::internal::cuda {

/// Shared by all threads. The context must outlive it.
class Module {
 public:
  /// Loads a cubin. Throws DeviceError, also if the cubin is damaged or for another architecture.
  /// `shared_bytes` is the most dynamic shared memory that a launch may use.
  Module(const PrimaryContext& context, const Binary& binary, std::uint32_t shared_bytes);
  /// Loads `image`: a complete ELF file, or the text of a PTX program, which the driver compiles.
  /// `what` names the image in errors.
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

/// Runs one CTA per SM. Each thread increments its own word of memory, which is 0 at first. Used by
/// one host thread at a time. The context must outlive it.
class InterposedKernel {
 public:
  /// `stream`: on which it is launched first. Throws DeviceError.
  InterposedKernel(const PrimaryContext& context, int sm_count, CUstream stream);

  /// Throws DeviceError.
  void launch(CUstream stream) const;

 private:
  const PrimaryContext& context_;
  unsigned ctas_;
  Memory words_;
  Module module_;
};

}  // namespace tunedgemm::internal::cuda
