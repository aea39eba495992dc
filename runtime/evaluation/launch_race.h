#pragma once

// Chooses the launch variant of a tuned kernel, i.e. how to launch it after another kernel of this
// library. A tuning in the isolated launch regime cannot measure how the variants differ. A tuning
// in the back-to-back regime does not compare the variants, because it launches all candidates with
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
  /// matter, if the device reports an error such as a lack of memory, if a variant fails, or for
  /// the reason in the remark.
  std::optional<LaunchChoice> choice;
  double seconds = 0;  ///< spent on the race
  /// A text for users, usually empty. It says why there is no choice, or why the winner keeps its
  /// launch although another launch was measured faster.
  std::string remark;
};

/// The remaining budget of a tuning.
struct LaunchRaceBudget {
  double seconds = 0;               ///< no race below TimeBudget::kGraceSeconds
  std::function<bool()> cancelled;  ///< see TuneOptions
};

/// Races the launch variants of the winner back to back. `binary` is the winner's machine code.
/// Throws DeviceError if the device is lost.
LaunchRace fastest_launch(Device& device, Store& store, const Instance& winner,
                          const Binary& binary, double winner_us, const LaunchRaceBudget& budget);

}  // namespace tunedgemm::internal
