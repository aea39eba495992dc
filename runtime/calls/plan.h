#pragma once

// Plan: what a call needs and nothing more: the kernel, its launch, and the arguments with all but
// the pointers and scalars filled in.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/calls/checked_call.h"
#include "runtime/device.h"

namespace tunedgemm::internal {

class Context;

/// Immutable once its context has made it, but for the atomics, so that threads share it.
struct Plan {
  /// A plan without a kernel: right for a D without elements, else to be completed.
  explicit Plan(const CheckedCall& call);

  Context* context = nullptr;
  CallKey key;
  Problem problem;       ///< canonical
  bool swapped = false;  ///< the caller's B is the kernel's A

  Candidate candidate;
  std::shared_ptr<const CompiledKernel> kernel;  ///< null: D has no elements, nothing to launch
  Launch launch;
  Arguments arguments;  ///< everything but pointers, scales, alpha, beta, slope

  /// Bytes from a matrix's first to its last element, of the caller's A, B, C, D.
  std::int64_t a_bytes = 0, b_bytes = 0, c_bytes = 0, d_bytes = 0;
  std::int64_t element_bytes_d = 1;
  bool reads_inputs = true;  ///< k > 0 and alpha is not 0
  bool reads_c = false;
  bool has_streams = true;  ///< else a launch's stream is null

  std::string description = "nothing to compute";

  /// Whether the kernel is a winner of the problem, or there is nothing to compute. What is not
  /// gets a successor when there is a winner: who holds the plan runs that one.
  bool is_final = true;
  mutable std::atomic<const Plan*> successor{nullptr};
  const Plan& newest() const noexcept {
    const Plan* next = successor.load(std::memory_order_acquire);
    return next == nullptr ? *this : *next;
  }

  /// Whether the memory of a call's buffers was seen to be of the device's kind.
  mutable std::atomic<bool> has_seen_memory{false};

  /// Launches of a plan that is not final since they were last noted as a request; on a line of
  /// its own, since what is read beside it is read by every launch.
  alignas(64) mutable std::atomic<std::int64_t> calls{0};
};

/// Sizes and strides of the canonical problem, as a kernel is given them; pointers null, alpha 1,
/// beta 0.
Arguments arguments_of(const Problem& problem);

}  // namespace tunedgemm::internal
