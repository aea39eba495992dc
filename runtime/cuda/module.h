#pragma once

// Module: a compiled kernel in the GPU's memory. OtherKernel: a small kernel that belongs to
// nobody, as a program has them between matrix products.

#include <string>

#include "cache/record.h"
#include "runtime/cuda/context.h"
#include "runtime/cuda/memory.h"

namespace tunedgemm::internal::cuda {

/// Shared by all threads. The context must outlive it.
class Module {
 public:
  /// Throws DeviceError, also where the cubin is damaged or for another architecture.
  /// `shared_bytes` is the dynamic shared memory that launches may ask for.
  Module(const PrimaryContext& context, const Binary& binary, std::uint32_t shared_bytes);
  /// The same from `image`, a whole ELF file or the text of a program in PTX, which the driver
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
