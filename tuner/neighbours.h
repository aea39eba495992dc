#pragma once

// The winner for a similar shape is a good guess for this one.

#include <optional>
#include <span>
#include <vector>

#include "cache/record.h"
#include "kernel_templates/family.h"

namespace tunedgemm::internal {

/// The distance between two canonical problems: the sum of the differences of log2(1 + size) over
/// M, N, K and batch, plus 1 if alignment or alpha differ, 1/4 if strides differ, and 1/4 if the
/// launch regime differs. A metric: zero for equal problems only. Empty if the types, orders,
/// numerics, regime or the epilogue's class differ: then one winner predicts nothing about the
/// other.
std::optional<double> distance(const Problem& left, const Problem& right);

struct NearWinner {
  double apart = 0;  ///< distance() of its problem
  const Record* winner = nullptr;
};
/// The winners on this device whose problems have a distance to this one, the nearest first. They
/// point into `winners`.
std::vector<NearWinner> nearest_winners(const Problem& problem, const DeviceIdentity& device,
                                        std::span<const Record> winners);

/// The winners of at most `count` tuned problems on this device, the nearest first, each followed
/// by its ties; without duplicates, and only candidates that are legal for `problem`. An earlier
/// winner of the problem itself comes first.
std::vector<Instance> neighbour_seeds(const Problem& problem, const DeviceIdentity& device,
                                      const DeviceLimits& limits, std::span<const Record> winners,
                                      int count);

/// How many neighbouring problems to request from a store for a problem without a winner.
inline constexpr int kAskedNeighbours = 32;

/// The candidates for a call without a winner, the best guess first; never empty. They are in the
/// cost model's order, preceded by the winner of the nearest problem on this device that is near
/// enough: tuned to completion, no extent more than twice the other's, the same alignments, and
/// ranked by the model (which knows waves, split K and bytes) about as well here as where it won.
/// `ranked` are the problem's ranked_candidates().
std::vector<Instance> untuned_choices(const Problem& problem, const DeviceIdentity& device,
                                      const DeviceLimits& limits, std::span<const Record> winners,
                                      std::vector<Instance> ranked);

/// The candidates of a tuning that were timed, the fastest first; without those whose template has
/// changed since.
std::vector<Instance> measured_instances(const Problem& problem, const DeviceLimits& limits,
                                         std::vector<TrialRecord> trials);

}  // namespace tunedgemm::internal
