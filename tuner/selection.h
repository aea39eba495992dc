#pragma once

// Selection: which candidates are tried, and in which order. The default first, so that even the
// smallest budget has tried it; then what is known to be good; then the cost model's best, spread
// over different tiles, since the model is surest about what makes candidates alike.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/record.h"
#include "kernel_templates/family.h"
#include "tuner/search_limits.h"
#include "tuner/tune.h"

namespace tunedgemm::internal {

/// All that is known before a tuning begins. The views are only used during the call.
struct Knowledge {
  std::span<const Instance> ranked;           ///< all legal ones, the best predicted first
  std::optional<Instance> default_candidate;  ///< the default, which always races
  std::optional<Instance> baseline;           ///< the naive kernel, beyond the count
  std::span<const Instance> seeds;            ///< winners of neighbouring shapes, the nearest first
  std::span<const TrialRecord> earlier;       ///< outcomes for this very problem, here
};

struct SelectedCandidate {
  Instance ranked;
  bool is_default = false;
  bool is_baseline = false;
};

struct Selection {
  std::vector<SelectedCandidate> candidates;  ///< to be tried in this order, without duplicates
  /// Earlier rejections that hold still: these candidates are not tried again.
  std::vector<TrialRecord> rejected;
  /// Those of them that only spill registers: what is left to try if nothing else is valid.
  std::vector<SelectedCandidate> spilling;
};

/// Takes at most `search_limits.candidates`, less those that refine() may take. A candidate that
/// was rejected earlier, with the same template, is left out; the default comes back if it was only
/// slow. Earlier times decide the order and nothing more: the best of them come early, the others
/// last.
Selection select(const Knowledge& knowledge, const SearchLimits& search_limits);

/// Takes `search_limits.refinements` more when those of select() have been tried: variants of the
/// tiles of the fastest of them, `best`, in other orders and clusters, of which select() has few,
/// half of them of one tile at most; then the next of the cost model's order. What was tried before
/// is left out: here (`tried`), or earlier (`knowledge.earlier`).
Selection refine(const Knowledge& knowledge, std::span<const Instance> best,
                 std::span<const TrialRecord> tried, const SearchLimits& search_limits);

/// Takes exactly `knowledge.ranked`, in its order, with the default before them.
Selection select_given(const Knowledge& knowledge);

struct Ranking {
  std::vector<Instance> ranked;      ///< all legal candidates, the best predicted first
  std::vector<TrialRecord> earlier;  ///< outcomes for this very problem, here
  Selection selection;
};

/// What is known of all legal candidates, without those that deserve to be tried first. A view of
/// `ranking`.
Knowledge knowledge_of(const Ranking& ranking);

/// Step 0: brings together what the cost model, the neighbouring shapes and earlier tunings know of
/// the problem, and selects.
Ranking rank(const Task& task, const SearchLimits& search_limits);

}  // namespace tunedgemm::internal
