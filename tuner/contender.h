#pragma once

// Contender: a participant of a Race. Only the caller of the race knows what a contender times: a
// candidate, or another library's kernel.

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

/// The order of contenders with equal times: the smallest preference wins. It contains no measured
/// value, so two tunings whose candidates tie choose the same winner.
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
  // decide() reads these in addition to the times.
  Preference preference;
  bool is_default = false;
  // The race fills these. Element r of every contender was measured in the same round.
  std::vector<float> rounds_us;
  std::vector<double> clocks_mhz;      ///< of each round
  std::optional<Rejection> rejection;  ///< set if it failed and left the race: ignore its rounds
};

}  // namespace tunedgemm::internal
