#pragma once

// How a tuned kernel is best started behind another one of this library. A tuning of isolated
// launches does not see that, and in one of launches back to back all candidates overlap.

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
  /// Empty where there is only one launch, where the kernel takes so long that it does not matter,
  /// where there is no memory for the race, and where the remark says why.
  std::optional<LaunchChoice> choice;
  double seconds = 0;  ///< that were spent
  /// For people, mostly empty: why there is no choice, or why it is the winner's launch though
  /// another one was measured faster.
  std::string remark;
};

/// What a tuning has left for the race.
struct LaunchRaceBudget {
  double seconds = 0;               ///< with less than TimeBudget::kGraceSeconds nothing is raced
  std::function<bool()> cancelled;  ///< see TuneOptions
};

/// Races the launch variants of the winner, whose machine code is `binary`, back to back. Throws
/// DeviceError where the device is lost.
LaunchRace fastest_launch(Device& device, Store& store, const Instance& winner,
                          const Binary& binary, double winner_us, const LaunchRaceBudget& budget);

}  // namespace tunedgemm::internal
