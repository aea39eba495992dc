#pragma once

// Neighbours: tuned problems of similar shape, and the same problem on a similar device, whose
// winners are good guesses for a new problem.

#include <optional>
#include <span>
#include <vector>

#include "cache/record.h"
#include "cache/store.h"
#include "kernel_templates/family.h"

namespace tunedgemm::internal {

/// The distance between two canonical problems: the sum of the differences of log2(1 + size) over
/// M, N, K and batch, plus 1 if alignments or alpha differ, and 1/4 each for differing strides or
/// c_is_d, launch regimes, and invariant or sm_limit. Empty if types, orders, numerics, beta, bias
/// or activation differ, because the winner of one problem then predicts nothing about the other.
std::optional<double> distance(const Problem& left, const Problem& right);

/// Whether the matrices have equal alignments, and alpha is of the same class.
bool same_alignment(const Problem& left, const Problem& right);

/// `problem` with its alignments limited to those of `winner`, so that it gets the winner's kernel:
/// a kernel accepts memory with a higher alignment than it needs.
Problem aligned_as(const Problem& winner, const Problem& problem);

struct NearWinner {
  double apart = 0;  ///< the distance() of the winner's problem
  const Record* winner = nullptr;
};
/// The winners on this device whose problems have a distance() to `problem`, the nearest first. The
/// results point into `winners`.
std::vector<NearWinner> nearest_winners(const Problem& problem, const DeviceIdentity& device,
                                        std::span<const Record> winners);

/// The winners of at most `count` tuned problems on this device, the nearest first, each followed
/// by some of its ties. There are no duplicates, and all candidates are legal for `problem`. An
/// earlier winner of the problem itself comes first.
std::vector<Instance> neighbour_seeds(const Problem& problem, const DeviceIdentity& device,
                                      const DeviceLimits& limits, std::span<const Record> winners,
                                      int count);

/// The problem, which is canonical, where similar devices have tuned it (Store::similar_devices),
/// in the order of the devices.
std::vector<TunedProblem> tuned_elsewhere(const Store& store, const CanonicalProblem& problem,
                                          const DeviceIdentity& device);

/// At most `count` candidates for a problem that was tuned elsewhere: for each tuning the winner,
/// its ties and the finalists, the fastest first. There are no duplicates, and all candidates are
/// legal for `problem`.
std::vector<Instance> seeds_from_elsewhere(const Problem& problem, const DeviceLimits& limits,
                                           std::span<const TunedProblem> elsewhere, int count);

/// The number of neighbours to request from a store for an untuned problem.
inline constexpr int kAskedNeighbours = 32;

/// The candidates for a call without a winner, the best guess first; never empty. At most one
/// winner of a near problem on this device comes first; the cost model's order follows. The near
/// problem must be completely tuned, with the same alignments and alpha, and extents within a
/// factor of two. The model must rate the near problem's winner about as well for `problem` as for
/// the near problem. `ranked` are the ranked_candidates() of `problem`.
std::vector<Instance> untuned_choices(const Problem& problem, const DeviceIdentity& device,
                                      const DeviceLimits& limits, std::span<const Record> winners,
                                      std::vector<Instance> ranked);

/// The same with the winners in the store. If no near winner on this device comes first, the
/// problem's winner on a similar device does, if its tuning was complete and the model of this
/// device rates it about as well as its own best choice.
std::vector<Instance> untuned_choices(const Store& store, const CanonicalProblem& problem,
                                      const DeviceIdentity& device, const DeviceLimits& limits,
                                      std::vector<Instance> ranked);

/// The candidate of a trial that was timed; empty if it was not, or if its template has changed.
std::optional<Candidate> timed_candidate(const TrialRecord& trial);

/// The timed candidates in `trials`, the fastest first. Skips candidates that are illegal for
/// `problem`, and those whose template has changed.
std::vector<Instance> measured_instances(const Problem& problem, const DeviceLimits& limits,
                                         std::vector<TrialRecord> trials);

}  // namespace tunedgemm::internal
