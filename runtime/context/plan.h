#pragma once

// Plan: the kernel of a call, its origin, its launch, and its arguments except pointers and
// scalars.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cache/record.h"
#include "runtime/context/checked_call.h"
#include "runtime/device.h"

namespace tunedgemm::internal {

class Context;

/// Where a plan's kernel comes from. The numbers are part of the C ABI, so never renumber.
enum class Origin : std::int32_t {
  kNothing = 0,
  kTuned = 1,
  kStale = 2,
  kOtherM = 3,
  kOtherDevice = 4,
  kNearest = 5,
  kModel = 6,
  kLinkedIn = 7,
};
std::string_view name(Origin origin);

/// The origin with its evidence: all that the plan's description and its info say.
struct KernelOrigin {
  Origin kind = Origin::kNothing;
  std::string text = "nothing to compute";  ///< for people
  std::optional<Record> winner;             ///< for kTuned and kStale
  /// For kOtherM: the M that the kernel was tuned for, and the expected time of a launch.
  std::int64_t tuned_m = 0;
  double expected_us = 0;
};

/// Threads may share a plan, because once its context has made it, only the atomic members change.
struct Plan {
  /// Creates a plan without a kernel, which is complete only if D has no elements.
  explicit Plan(const CheckedCall& call);

  Context* context = nullptr;
  CallKey key;
  CanonicalProblem problem;
  bool swapped = false;  ///< the caller's B is the kernel's A

  Candidate candidate;
  std::shared_ptr<const CompiledKernel> kernel;  ///< null: D has no elements, nothing to launch
  Launch launch;
  Arguments arguments;  ///< everything but pointers, scales, alpha, beta, slope

  /// The bytes from the first to the last element of the caller's A, B, C, D.
  std::int64_t a_bytes = 0, b_bytes = 0, c_bytes = 0, d_bytes = 0;
  std::int64_t element_bytes_d = 1;
  bool reads_inputs = true;  ///< k > 0 and alpha is not 0
  bool reads_c = false;
  bool has_streams = true;  ///< if false, every stream is null

  /// Whether the kernel is the problem's winner, or there is nothing to compute. A plan that is not
  /// final may get a successor once there is a winner. Holders of the plan then run the successor.
  bool is_final = true;
  mutable std::atomic<const Plan*> successor{nullptr};
  const Plan& newest() const noexcept {
    const Plan* next = successor.load(std::memory_order_acquire);
    return next == nullptr ? *this : *next;
  }

  /// Whether why_not_memory() has accepted the buffers of an earlier call.
  mutable std::atomic<bool> is_memory_checked{false};

  bool is_counted = false;  ///< also if it is final

  /// The number of launches that the store has not counted yet; 0 if the plan is final and not
  /// counted. This member has its own cache line, because every launch reads the members before it.
  alignas(64) mutable std::atomic<std::int64_t> calls{0};
  mutable std::atomic<std::int64_t> noted_calls{0};  ///< those that the store has counted

  // No launch reads these.
  KernelOrigin origin;
  std::string description = origin.text;  ///< with the candidate and the workspace
};

}  // namespace tunedgemm::internal
