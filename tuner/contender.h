#pragma once

// Contender: one who is in a race. What is behind it (a candidate, another library's kernel) only
// its caller knows.

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cache/record.h"

namespace tunedgemm::internal {

/// One sample: the mean time of a launch.
struct Sample {
  double us = 0;
  double clock_mhz = 0;  ///< of the device meanwhile; 0: not known
};

/// The fixed rule among equals: the smaller is preferred. It has nothing in it that was measured,
/// so two tunings whose candidates tie choose the same one.
struct Preference {
  bool needs_workspace = false;  ///< split K among others: more memory, and one more thing to clear
  int family_position = 0;       ///< in the registry, which lists the simplest first
  double predicted_us = 0;
  std::string text;  ///< the candidate, so that no two are equal

  friend bool operator<(const Preference& left, const Preference& right);
};

/// Refers to what it samples.
struct Contender {
  /// Times so many launches, one after the other.
  std::function<std::variant<Sample, Rejection>(int launches)> sample;
  double launch_us = 0;  ///< about what one takes, from a sample before the race
  // What decide() looks at beside the times.
  Preference preference;
  bool is_default = false;
  // What came of it. Round r of all contenders was measured side by side.
  std::vector<float> rounds_us;
  std::vector<double> clocks_mhz;      ///< of each round
  std::optional<Rejection> rejection;  ///< it failed and left the race: its rounds do not count
};

}  // namespace tunedgemm::internal
