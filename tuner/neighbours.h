#pragma once

// Neighbours: tuned problems of similar shape, whose winners are good guesses for a new problem.

#include <optional>
#include <span>
#include <vector>

#include "cache/record.h"
#include "kernel_templates/family.h"

namespace tunedgemm::internal {

/// The distance between two canonical problems: the sum of the differences of log2(1 + size) over
/// M, N, K and batch, plus 1 if alignment or alpha differ, 1/4 if strides differ, and 1/4 if the
/// launch regime differs. It is a metric: zero only for equal problems. Empty if the types, orders,
/// numerics, regimes or epilogue classes differ: then the winner of one problem predicts nothing
/// about the other's.
std::optional<double> distance(const Problem& left, const Problem& right);

struct NearWinner {
  double apart = 0;  ///< distance() of its problem
  const Record* winner = nullptr;
};
/// The winners on this device whose problems have a distance() to `problem`, the nearest first. The
/// results point into `winners`.
std::vector<NearWinner> nearest_winners(const Problem& problem, const DeviceIdentity& device,
                                        std::span<const Record> winners);

/// The winners of at most `count` tuned problems on this device, the nearest first, each followed
/// by its ties. There are no duplicates, and all candidates are legal for `problem`. An earlier
/// winner of the problem itself comes first.
std::vector<Instance> neighbour_seeds(const Problem& problem, const DeviceIdentity& device,
                                      const DeviceLimits& limits, std::span<const Record> winners,
                                      int count);

/// How many neighbouring problems to request from a store for a problem without a winner.
inline constexpr int kAskedNeighbours = 32;

/// The candidates for a call without a winner, the best guess first; never empty. They are in the
/// cost model's order, preceded by a winner of a near problem on this device: the nearest one that
/// was tuned to completion, has the same alignments and no extent that differs by more than a
/// factor of two, and whose winner the model (which knows waves, split K and bytes) ranks about as
/// well for `problem`. `ranked` are the ranked_candidates() of `problem`.
std::vector<Instance> untuned_choices(const Problem& problem, const DeviceIdentity& device,
                                      const DeviceLimits& limits, std::span<const Record> winners,
                                      std::vector<Instance> ranked);

/// The candidates that a tuning timed, the fastest first, except those whose template has changed
/// since.
std::vector<Instance> measured_instances(const Problem& problem, const DeviceLimits& limits,
                                         std::vector<TrialRecord> trials);

}  // namespace tunedgemm::internal
