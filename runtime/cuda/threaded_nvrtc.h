#pragma once

// ThreadedNvrtc: NVRTC in this process, with a time limit.

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <variant>

#include "runtime/cuda/nvrtc.h"

namespace tunedgemm::internal::cuda {

/// Runs each compilation on a thread of its own and waits for the result. A compilation that
/// exceeds its time limit is abandoned, because a thread cannot be stopped. An abandoned
/// compilation runs on, perhaps until the process ends, and may hold NVRTC's locks. Until it
/// returns, no other compilation starts. If no thread can be started, compiles on the calling
/// thread, without a time limit. Thread-safe; may be destroyed while abandoned compilations run.
class ThreadedNvrtc {
 public:
  /// Loads the library. Throws DeviceError(kUnavailable).
  explicit ThreadedNvrtc(const NvrtcLocation& location);

  /// Empty if sources can be compiled for the compute capability now, else a sentence.
  std::string why_not(int architecture) const;
  /// Calls Nvrtc::compile. Returns a CompileFailure if the compilation exceeds `limit`.
  std::variant<Binary, CompileFailure> compile(const Source& source, int architecture,
                                               std::chrono::milliseconds limit) const;

 private:
  struct Shared;
  struct Job;

  std::shared_ptr<Shared> shared_;
};

}  // namespace tunedgemm::internal::cuda
