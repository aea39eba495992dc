#pragma once

// Policy: how to handle a cache miss. It says who may make a kernel while the call waits, and which
// stored kernels are so good that none is made.

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace tunedgemm::internal {

/// The presets that users name. The numbers are part of the C ABI, so never renumber.
enum class Policy : std::int32_t {
  kTune = 1,
  kTuneInBackground = 2,
  kCompile = 3,
  kStored = 4,
  kFail = 5,
};
std::string_view name(Policy policy);
std::optional<Policy> parse_policy(std::string_view text);

enum class KernelMaker { kNobody, kCompiler, kTuner };

/// The expected loss of a stored kernel (PlanMaker::expected_loss) with which policy compile
/// compiles nothing.
inline constexpr double kUsualAcceptedLoss = 0.05;
inline constexpr double kAnyLoss = std::numeric_limits<double>::infinity();

/// One attempt to get a kernel: the winner, else a stored kernel that is good enough, else a new
/// kernel by the maker.
struct Attempt {
  KernelMaker maker;
  /// 0: only the winner is good enough. kAnyLoss: any stored or linked-in kernel is; otherwise a
  /// kernel that was tuned for another M, with at most this expected loss.
  double accepted_loss;

  /// Whether the call may wait while the winner's kernel is compiled. A call that accepts nothing
  /// else waits.
  bool may_compile_winner() const { return maker != KernelMaker::kNobody || accepted_loss == 0; }
};

/// The attempts under a policy, in their order:
///
///     fail                nobody 0
///     stored              nobody any
///     compile             compiler 5 %, nobody any
///     tune                tuner 0, compiler 5 %, nobody any
///     tune_in_background  nobody any, compiler 5 %        (and a queue, see BackgroundTuner)
///
/// A positive `accepted_loss` is that of the caller, and replaces those of compiler and tuner. It
/// matters under tune and compile alone: nobody keeps 0 or any.
std::vector<Attempt> attempts_of(Policy policy, double accepted_loss = 0);

}  // namespace tunedgemm::internal
