#pragma once

// Decides which contender wins. decide() is a pure function: the same times always give the same
// winner. The README of this folder has the rules.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "tuner/contender.h"

namespace tunedgemm::internal {

/// Candidates count as equal within this margin, even if the difference is certain.
inline constexpr double kTieMargin = 0.005;
/// Candidates beyond this margin never count as equal, even if their times are noisy.
inline constexpr double kTieCeiling = 0.02;
/// A challenger must beat the default by this margin to replace it.
inline constexpr double kDefaultMargin = kTieMargin;
/// Used if the interval contains 0, for example because there are few rounds. A challenger then
/// replaces the default only if it is faster by more than kTieCeiling, and is either faster in all
/// samples or faster by more than this many median deviations of the rounds.
inline constexpr double kFarBeyondNoise = 4;

/// A contender that was measured faster than the winner by more than kTieMargin but did not win.
struct PassedOver {
  std::size_t index = 0;
  double speedup = 1;  ///< the winner's median over this contender's
  double uncertainty =
      0;  ///< of the speedup: half the 95 % interval, or half the range without an interval
  bool too_few_rounds = false;  ///< for an interval
};

/// All indices are positions in the argument of decide().
struct Decision {
  std::size_t winner = 0;
  std::vector<std::size_t> ties;          ///< other contenders that equal the winner
  std::optional<std::size_t> runner_up;   ///< the fastest of the others
  std::optional<PassedOver> passed_over;  ///< empty: the winner is the fastest, or equal to it
  /// Whether the decision is unlikely to change with more rounds: in each comparison with the best,
  /// the whole interval is on one side of the margin.
  bool settled = false;
};

/// Precondition: at least one contender; all have the same number of rounds, at least one.
Decision decide(std::span<const Contender* const> contenders);

}  // namespace tunedgemm::internal
