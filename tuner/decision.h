#pragma once

// Decides which contender wins. A pure function of the times: no device, no randomness; the same
// rounds always give the same winner. The README of this folder has the rules.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "tuner/contender.h"

namespace tunedgemm::internal {

/// Candidates within this margin count as equal, however certain the difference is.
inline constexpr double kTieMargin = 0.005;
/// Candidates beyond this margin never count as equal, however noisy their times are.
inline constexpr double kTieCeiling = 0.02;
/// A challenger must beat the default by this margin to replace it.
inline constexpr double kDefaultMargin = kTieMargin;
/// If there are too few rounds for an interval, or if a few rounds have an outlier, a challenger
/// replaces the default if it is faster by more than kTieCeiling and by more than this many median
/// deviations of the rounds.
inline constexpr double kFarBeyondNoise = 4;

/// A contender that was measured faster than the winner by more than kTieMargin but did not win.
struct PassedOver {
  std::size_t index = 0;
  double speedup = 1;  ///< the winner's median over this contender's
  double uncertainty =
      0;  ///< of the speedup: half the 95 % interval, or half the range if there is none
  bool too_few_rounds = false;  ///< for an interval
};

/// All indices are positions in the argument of decide().
struct Decision {
  std::size_t winner = 0;
  std::vector<std::size_t> ties;         ///< indistinguishable from the winner, which is not listed
  std::optional<std::size_t> runner_up;  ///< the fastest of the others
  std::optional<PassedOver> passed_over;  ///< empty: the winner is the fastest, or equal to it
  /// Whether more rounds are unlikely to change the decision: the interval of each comparison is
  /// entirely on one side of the margin for that comparison.
  bool settled = false;
};

/// Precondition: there is at least one contender, and all have the same number of rounds, at least
/// one.
Decision decide(std::span<const Contender* const> contenders);

}  // namespace tunedgemm::internal
