#pragma once

// Stream: a queue of work of our own that does not wait for the default stream.

#include "runtime/cuda/context.h"

namespace tunedgemm::internal::cuda {

/// Shared by all threads. The context must outlive it.
class Stream {
 public:
  /// Throws DeviceError.
  explicit Stream(const PrimaryContext& context);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  CUstream handle() const { return handle_; }

 private:
  const PrimaryContext& context_;
  CUstream handle_ = nullptr;
};

}  // namespace tunedgemm::internal::cuda
