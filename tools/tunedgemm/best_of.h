#pragma once

// The best of some candidates for a problem: what a rung of the ladder, or a list that somebody
// else chose, is worth.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/context/context.h"

namespace tunedgemm::internal {

/// The cache's winner, tuned with this rigor first where it has none. Empty if that was
/// interrupted, or there is no valid candidate; then `failure` gets a sentence. Throws DeviceError.
std::optional<Candidate> tuned_winner(Context& context, const Problem& problem, Rigor rigor,
                                      std::string* failure);

/// The fastest of the candidates, measured as the tuner does; the cache's winner stays what it is.
/// Those that are not legal for the problem, which is canonical, are left out. A single one that is
/// left is not tried. Empty if none is left, or none is right. Throws DeviceError.
std::optional<Candidate> best_of(Context& context, const Problem& problem,
                                 std::vector<Candidate> candidates);

/// The winner of a tuning of its own with this rigor, as if nothing were known; the cache's stays
/// what it is. `most_candidates`: 0 means what the rigor gives. Empty, and `failure` set, as for
/// tuned_winner(). Throws DeviceError.
std::optional<Candidate> fresh_winner(Context& context, const Problem& problem, Rigor rigor,
                                      int most_candidates, std::string* failure);

/// What a call would run if nothing was tuned for the problem: the cost model's choice; of all that
/// the cache has, the winners of other problems may inform it.
enum class Neighbours { kIgnored, kAsked };
Candidate untuned_choice(Context& context, const Problem& problem, Neighbours neighbours);

/// The candidates of the family that the cost model likes best, eight at most.
std::vector<Candidate> favourites_of_family(const Family& family, const Problem& problem,
                                            const DeviceLimits& limits);

/// Lists with a name: "triton-tutorial", the 16 configs of that tutorial as configs of mma. Empty
/// for other names.
std::vector<Candidate> named_candidates(std::string_view name);

}  // namespace tunedgemm::internal
