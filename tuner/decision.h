#pragma once

// Which contender wins. It looks at numbers alone: no device, no randomness, and the same rounds
// always give the same winner. The rules stand in the README of this folder.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "tuner/contender.h"

namespace tunedgemm::internal {

/// Two candidates this close are equal for all purposes, however sure the difference is.
inline constexpr double kTieMargin = 0.005;
/// Beyond this a candidate is not called equal, however noisy its times are.
inline constexpr double kTieCeiling = 0.02;
/// A challenger replaces the default only if it is this much better.
inline constexpr double kDefaultMargin = kTieMargin;
/// With too few rounds for an interval, or an outlier in one of few, a challenger replaces the
/// default if it is faster by more than kTieCeiling and by this many median deviations of the
/// rounds.
inline constexpr double kFarBeyondNoise = 4;

/// One that was measured faster than the winner, by more than kTieMargin, and did not win.
struct PassedOver {
  std::size_t index = 0;
  double speedup = 1;  ///< the winner's median over its own
  double uncertainty =
      0;  ///< of the speedup: half the 95 % interval, or half the range without one
  bool too_few_rounds = false;  ///< for an interval
};

/// All indices are positions in what was given to decide().
struct Decision {
  std::size_t winner = 0;
  std::vector<std::size_t> ties;  ///< not distinguishable from the winner, which is not listed
  std::optional<std::size_t> runner_up;   ///< the fastest of the others
  std::optional<PassedOver> passed_over;  ///< empty: the winner is the fastest, or equal to it
  /// Further rounds would hardly change the decision: each comparison's interval lies on one side
  /// of the margin that it is held against.
  bool settled = false;
};

/// Precondition: at least one contender, all with the same number of rounds, at least one.
Decision decide(std::span<const Contender* const> contenders);

}  // namespace tunedgemm::internal
