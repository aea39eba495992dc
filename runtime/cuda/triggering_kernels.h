#pragma once

// TriggeringKernels: the kernels of this library that let the one behind them start early
// (cuda/ptx/griddepcontrol.cuh), so that a launch knows whether it follows one.

#include <mutex>
#include <unordered_set>

#include "runtime/cuda/driver.h"

namespace tunedgemm::internal::cuda {

/// Shared by all threads.
class TriggeringKernels {
 public:
  void add(CUfunction kernel);
  void remove(CUfunction kernel) noexcept;

  /// Whether what is launched on the stream now becomes a node of a graph behind one of these
  /// kernels, and behind nothing else. Part of the hot path: of a stream that is not being captured
  /// it only asks whether it is.
  bool one_was_captured_last(const Driver& driver, CUstream stream) const noexcept;

 private:
  bool contains(CUfunction kernel) const;

  mutable std::mutex mutex_;
  std::unordered_set<CUfunction> kernels_;
};

}  // namespace tunedgemm::internal::cuda
