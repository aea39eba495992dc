#pragma once

// How a tuned kernel is best started behind another one of this library. A tuning of isolated
// launches does not see that, and in one of launches back to back all candidates overlap.

#include <optional>

#include "cache/record.h"
#include "kernel_templates/family.h"

namespace tunedgemm {

class Device;
class Store;

struct LaunchChoice {
  Candidate candidate;
  Measurement back_to_back;
};

/// Races the launch variants of the winner, whose machine code is `binary`, back to back. Empty
/// where there is only one, where the kernel takes so long that it does not matter, and where there
/// is no memory for it. Throws DeviceError where the device is lost.
std::optional<LaunchChoice> fastest_launch(Device& device, Store& store, const Instance& winner,
                                           const Binary& binary, double winner_us);

}  // namespace tunedgemm
