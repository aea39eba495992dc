#pragma once

// Decides how a tuned kernel should be launched after another kernel of this library. A tuning in
// the isolated launch regime cannot measure that, and in a tuning back to back all candidates
// overlap.

#include <functional>
#include <optional>
#include <string>

#include "cache/record.h"
#include "kernel_templates/family.h"

namespace tunedgemm::internal {

class Device;
class Store;

struct LaunchChoice {
  Candidate candidate;
  Measurement back_to_back;
};

struct LaunchRace {
  /// Empty if there is only one launch variant, if the kernel is too slow for a difference to
  /// matter, if memory for the race is missing, or for the reason in the remark.
  std::optional<LaunchChoice> choice;
  double seconds = 0;  ///< spent on the race
  /// For people, usually empty: why there is no choice, or why the launch of the winner was kept
  /// although another one was measured faster.
  std::string remark;
};

/// The remaining budget of a tuning.
struct LaunchRaceBudget {
  double seconds = 0;               ///< no race below TimeBudget::kGraceSeconds
  std::function<bool()> cancelled;  ///< see TuneOptions
};

/// Races the launch variants of the winner, whose machine code is `binary`, back to back. Throws
/// DeviceError if the device is lost.
LaunchRace fastest_launch(Device& device, Store& store, const Instance& winner,
                          const Binary& binary, double winner_us, const LaunchRaceBudget& budget);

}  // namespace tunedgemm::internal
