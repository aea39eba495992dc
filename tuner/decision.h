#pragma once

// Which contender wins. It looks at numbers alone: no device, no randomness, and the same rounds
// always give the same winner. The rules stand in the README of this folder.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "tuner/contender.h"

namespace tunedgemm {

/// Two candidates this close are equal for all purposes, however sure the difference is.
inline constexpr double kTieMargin = 0.005;
/// Beyond this a candidate is not called equal, however noisy its times are.
inline constexpr double kTieCeiling = 0.02;
/// A challenger replaces the default only if it is this much better.
inline constexpr double kDefaultMargin = kTieMargin;

/// All indices are positions in what was given to decide().
struct Decision {
  std::size_t winner = 0;
  std::vector<std::size_t> ties;  ///< not distinguishable from the winner, which is not listed
  std::optional<std::size_t> runner_up;  ///< the fastest of the others
  /// Further rounds would hardly change the decision: each comparison's interval lies on one side
  /// of the margin that it is held against.
  bool settled = false;
};

/// Precondition: at least one contender, all with the same number of rounds, at least one.
Decision decide(std::span<const Contender* const> contenders);

}  // namespace tunedgemm
