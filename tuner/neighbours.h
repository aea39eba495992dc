#pragma once

// What was fastest for a similar shape is a good guess for this one.

#include <optional>
#include <span>
#include <vector>

#include "cache/record.h"
#include "kernel_templates/family.h"

namespace tunedgemm::internal {

/// How unlike two canonical problems are: the sum of the differences of log2(1 + size) over M, N, K
/// and batch, 1 if alignment or alpha differ, and 1/4 if strides do. A metric: zero for equal
/// problems only. Empty where the types, orders, numerics, regime or the epilogue's class differ,
/// so that nothing can be learned.
std::optional<double> distance(const Problem& left, const Problem& right);

struct NearWinner {
  double apart = 0;  ///< distance() of its problem
  const Record* winner = nullptr;
};
/// Those of the winners on this device whose problems have a distance to this one, the nearest
/// first. They point into `winners`.
std::vector<NearWinner> nearest_winners(const Problem& problem, const DeviceIdentity& device,
                                        std::span<const Record> winners);

/// The winners of at most `count` tuned problems on this device, the nearest first, each followed
/// by what tied with it; without duplicates and only what is legal for `problem`. A former winner
/// of the problem itself comes first.
std::vector<Instance> neighbour_seeds(const Problem& problem, const DeviceIdentity& device,
                                      const DeviceLimits& limits, std::span<const Record> winners,
                                      int count);

/// How many problems' winners a store is asked for where a problem has none of its own.
inline constexpr int kAskedNeighbours = 32;

/// What a call runs that nothing was tuned for, the best guess first; never empty. The cost model's
/// order, and before it the winner of the nearest problem on this device that is near enough: tuned
/// to the end, no extent more than twice the other's, the same alignments, and liked by the model
/// here (where it knows of waves, split K and bytes) about as well as where it won.
/// `ranked` are the problem's ranked_candidates().
std::vector<Instance> untuned_choices(const Problem& problem, const DeviceIdentity& device,
                                      const DeviceLimits& limits, std::span<const Record> winners,
                                      std::vector<Instance> ranked);

}  // namespace tunedgemm::internal
