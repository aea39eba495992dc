#pragma once

// Finds the best of several candidates for a problem: of all candidates, of a family's candidates
// (for a step of the ladder), or of a named list.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/context/context.h"

namespace tunedgemm::internal {

/// The cache's winner. If there is none, tunes first, with this rigor. Empty if the tuning was
/// interrupted or no candidate is valid; `failure` then gets the reason. Throws DeviceError.
std::optional<Candidate> tuned_winner(Context& context, const CanonicalProblem& problem,
                                      Rigor rigor, std::string* failure);

/// The fastest of the candidates, measured the way the tuner measures; the winner in the cache does
/// not change. Candidates that are illegal for the canonical problem are ignored; if only one is
/// legal, it is returned untested. Empty if none is legal or none is correct. Throws DeviceError.
std::optional<Candidate> best_of(Context& context, const CanonicalProblem& problem,
                                 std::vector<Candidate> candidates);

/// The winner of a fresh tuning with this rigor, which ignores earlier results and leaves the
/// cache's winner unchanged. A `most_candidates` of 0 means the rigor's number. Like
/// tuned_winner(), may return nothing and set `failure`. Throws DeviceError.
std::optional<Candidate> fresh_winner(Context& context, const CanonicalProblem& problem,
                                      Rigor rigor, int most_candidates, std::string* failure);

enum class Neighbours { kIgnored, kUsed };
/// The kernel that a call with an untuned problem runs: the cost model's choice or, with kUsed, the
/// winner of a similar problem if the cache has one.
Candidate untuned_choice(Context& context, const CanonicalProblem& problem, Neighbours neighbours);

/// The family's candidates that the cost model ranks highest, at most eight.
std::vector<Candidate> favourites_of_family(const Family& family, const Problem& problem,
                                            const DeviceLimits& limits);

/// The stored binaries of the instance that the device may load; calls run the first one.
std::vector<StoredBinary> stored_binaries(Context& context, const Instance& instance);

/// The 16 configs of Triton's tutorial, as configs of mma.
std::vector<Candidate> triton_tutorial_candidates();

/// The configs in a file: one a line, as in "block_m=128 block_n=64 stages=4". A config may lack
/// knobs. Empty lines and lines that begin with # are skipped. Throws std::invalid_argument with
/// the file and the line.
std::vector<Config> read_configs(const std::string& path);

/// For each config the instance with the least sum of differences of log2(1 + value) over the
/// config's knobs, the first one if there are several. A knob that an instance lacks counts as 1.
/// Empty if there are no instances.
std::vector<Candidate> nearest_candidates(const std::vector<Config>& configs,
                                          const std::vector<Instance>& instances);

}  // namespace tunedgemm::internal
