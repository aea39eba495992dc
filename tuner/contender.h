#pragma once

// Contender: a participant of a Race. Only its caller knows what it times: a candidate, or another
// library's kernel.

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
  double clock_mhz = 0;  ///< of the device during the sample; 0 if unknown
};

/// The fixed order among equals: the smaller one is preferred. No measured value is part of it, so
/// two tunings whose candidates tie choose the same winner.
struct Preference {
  bool needs_workspace = false;  ///< such as split K: more memory, one more buffer to clear
  int family_position = 0;       ///< in the registry, which lists the simplest family first
  double predicted_us = 0;
  std::string text;  ///< of the candidate, so that no two preferences are equal

  friend bool operator<(const Preference& left, const Preference& right);
};

/// Refers to the kernel that it samples.
struct Contender {
  /// Times `launches` back-to-back launches.
  std::function<std::variant<Sample, Rejection>(int launches)> sample;
  double launch_us = 0;  ///< the approximate time of a launch, from a sample before the race
  // Read by decide() in addition to the times.
  Preference preference;
  bool is_default = false;
  // Filled by the race. Round r of all contenders was measured side by side.
  std::vector<float> rounds_us;
  std::vector<double> clocks_mhz;      ///< of each round
  std::optional<Rejection> rejection;  ///< set if it failed and left the race: ignore its rounds
};

}  // namespace tunedgemm::internal
