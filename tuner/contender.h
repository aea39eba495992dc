#pragma once

// Contender: a participant of a Race. It runs a candidate or another library's kernel; the race
// need not know which.

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

/// Decides between contenders with equal times: the smallest preference wins. A preference contains
/// no measured value, so two tunings with the same ties choose the same winner.
struct Preference {
  bool needs_workspace = false;  ///< for example with split K; costs memory
  int family_position = 0;       ///< in the registry, which lists the simplest family first
  double predicted_us = 0;
  std::string text;  ///< of the candidate: makes every preference unique

  friend bool operator<(const Preference& left, const Preference& right);
};

/// Does not own the kernel that it samples.
struct Contender {
  /// Times `launches` launches.
  std::function<std::variant<Sample, Rejection>(int launches)> sample;
  double launch_us = 0;  ///< the approximate time of a launch, from a sample before the race
  // decide() reads the next two in addition to the times.
  Preference preference;
  bool is_default = false;
  // The race fills the rest. Element r of every contender was measured in the same round.
  std::vector<float> rounds_us;
  std::vector<double> clocks_mhz;      ///< of each round
  std::optional<Rejection> rejection;  ///< set if the contender failed and left: ignore its rounds
};

}  // namespace tunedgemm::internal
