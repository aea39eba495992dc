#pragma once

// Module: a cubin in the GPU's memory, and its one kernel.

#include <string>

#include "cache/record.h"
#include "runtime/cuda/context.h"

namespace tunedgemm::cuda {

/// Shared by all threads. The context must outlive it.
class Module {
 public:
  /// Throws DeviceError, also where the cubin is damaged or for another architecture.
  /// `shared_bytes` is the dynamic shared memory that launches may ask for.
  Module(const PrimaryContext& context, const Binary& binary, std::uint32_t shared_bytes);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  CUfunction function() const { return function_; }

 private:
  const PrimaryContext& context_;
  CUmodule handle_ = nullptr;
  CUfunction function_ = nullptr;
};

}  // namespace tunedgemm::cuda
