#pragma once

// Chooses among stored kernels for a problem whose M was not tuned, by the times that were measured
// at other M. A kernel accepts every M, but its tile, its cluster and its split of K suit some.

#include <functional>
#include <span>
#include <vector>

#include "cache/record.h"
#include "kernel_templates/family.h"

namespace tunedgemm::internal {

/// Whether the problems, which are canonical, differ in M at most, and in what may follow from M:
/// strides and alignments.
bool differ_in_m_alone(const Problem& left, const Problem& right);

/// A winner of another M, as a candidate for a problem.
struct CarriedWinner {
  Instance instance;       ///< for the problem, with the alignments that the kernel needs
  double expected_us = 0;  ///< of a launch
};

/// The winners on this device of problems that differ from `problem` in M alone, the least
/// expected_us first. `trials_of` gives the trials of a winner's tuning. It is called for at most two
/// winners: those with the nearest tuned M on both sides.
///
/// The cost model predicts each config's time at each M. Its error at M is interpolated from its
/// errors at these two M, linearly in log M. A config that was not measured there has the error of
/// the M where it won, and a penalty for each doubling between that M and this.
std::vector<CarriedWinner> winners_of_other_m(
    const Problem& problem, const DeviceIdentity& device, const DeviceLimits& limits,
    std::span<const Record> winners,
    const std::function<std::vector<TrialRecord>(const Record& winner)>& trials_of);

}  // namespace tunedgemm::internal
