#pragma once

// TrialRunner: checks and times the candidates for one problem in its own memory.

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "runtime/device.h"
#include "runtime/evaluation/operands.h"
#include "runtime/evaluation/verifier.h"

namespace tunedgemm::internal {

/// Returns the result of `attempt`. If `attempt` throws a DeviceError, returns a rejection as
/// kUnavailable, which allows a retry. Rethrows the error if the device is lost.
template <class Attempt>
auto rejected_unless_lost(Attempt&& attempt) -> decltype(attempt()) {
  try {
    return attempt();
  } catch (const DeviceError& error) {
    if (error.kind() == DeviceError::Kind::kLost) {
      throw;
    }
    return Rejection{Reason::kUnavailable, error.what()};
  }
}

/// Used by one thread. The device must outlive this object.
class TrialRunner {
 public:
  /// Takes at most the fraction `memory_share` (0 to 1) of the free memory. Throws
  /// DeviceError(kOutOfMemory).
  TrialRunner(Device& device, std::unique_ptr<Verifier> verifier, const Problem& problem,
              std::uint64_t seed, double memory_share = 1);

  /// The largest error relative to the error bound, at most 1. A rejection if the launch fails, or
  /// if its result is wrong. This function and sample() throw DeviceError if the device is lost.
  std::variant<double, Rejection> check(const CompiledKernel& kernel, const Launch& launch);

  /// Prepares the argument of sample().
  TimedLaunch prepare_timing(const CompiledKernel& kernel, const Launch& launch);
  /// The mean time of a launch in microseconds.
  std::variant<double, Rejection> sample(TimedLaunch& timed, int launches);

  /// Keeps the device busy for a few milliseconds.
  void work();

 private:
  std::variant<double, Rejection> check_or_throw(const CompiledKernel& kernel,
                                                 const Launch& launch);
  std::variant<double, Rejection> sample_or_throw(TimedLaunch& timed, int launches);
  /// Throws DeviceError(kOutOfMemory), also if most_bytes_ applies and the total would exceed it.
  std::unique_ptr<DeviceMemory> allocate(std::int64_t bytes);
  std::byte* set(std::int64_t index) const;
  void fill_operands();
  void provide_workspace(const Launch& launch);
  Arguments arguments(std::int64_t set_index, GroupSizes sizes) const;
  std::string wrong_result(const reference::ComparisonResult& result);
  std::string out_of_bounds_writes();
  bool counters_are_zero(const Launch& launch);

  Device& device_;
  std::unique_ptr<Verifier> verifier_;
  VerifiedProblem verified_;
  reference::Sampling sampling_;
  const bool is_limited_;  ///< whether most_bytes_ applies
  const std::int64_t most_bytes_;
  std::int64_t taken_bytes_ = 0;
  std::int64_t cold_bytes_;  ///< how much to access before an input is used again
  std::int64_t sets_;        ///< copies of the operands; the first is checked
  std::unique_ptr<DeviceMemory> operands_, expected_;
  std::unique_ptr<DeviceMemory> workspace_;  ///< null until a kernel needs one
  std::unique_ptr<DeviceMemory> flushed_;    ///< null until a sample needs it
  bool is_filled_ = false;
};

}  // namespace tunedgemm::internal
