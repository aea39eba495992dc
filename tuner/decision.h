#pragma once

// Which finalist wins. Pure judgement on numbers: no device, no randomness, and the same rounds
// always give the same winner. The rules stand in the README of this folder.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tunedgemm {

/// The fixed rule among equals: the smaller is preferred. It has nothing in it that was measured,
/// so two tunings whose candidates tie choose the same one.
struct Preference {
  bool needs_workspace = false;  ///< split K among others: more memory, and one more thing to clear
  int family_position = 0;       ///< in the registry, which lists the simplest first
  double predicted_us = 0;
  std::string text;  ///< the candidate, so that no two are equal

  friend bool operator<(const Preference& left, const Preference& right);
};

/// A finalist's times, one a round; round r of all contestants was measured side by side.
struct Contestant {
  std::vector<float> rounds_us;
  Preference preference;
  bool is_default = false;
};

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

/// Precondition: at least one contestant, all with the same number of rounds, at least one.
Decision decide(std::span<const Contestant> contestants);

}  // namespace tunedgemm
