#pragma once

// Selection: which candidates are tried, and in which order. The default first, so that even the
// smallest budget has tried it; then what is known to be good; then the cost model's best, spread
// over different tiles, since the model is surest about what makes candidates alike.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "cache/record.h"
#include "kernel_templates/family.h"
#include "tuner/effort.h"

namespace tunedgemm {

/// All that is known before a tuning begins. The views are only used during the call.
struct Knowledge {
  std::span<const RankedCandidate> ranked;  ///< all legal ones, the best predicted first
  std::optional<RankedCandidate> standard;  ///< the default, which always races
  std::optional<RankedCandidate> simplest;  ///< the naive kernel, tried last, beyond the count
  std::span<const RankedCandidate> seeds;   ///< winners of neighbouring shapes, the nearest first
  std::span<const TrialRecord> earlier;     ///< outcomes for this very problem, here
};

struct Selected {
  RankedCandidate ranked;
  bool is_default = false;
  bool is_simplest = false;
};

struct Selection {
  std::vector<Selected> candidates;  ///< to be tried in this order, without duplicates
  /// Earlier rejections that hold still: these candidates are not tried again.
  std::vector<TrialRecord> rejected;
  /// Those of them that only spill registers: what is left to try if nothing else is valid.
  std::vector<Selected> spilling;
};

/// Takes at most `effort.candidates`. A candidate that was rejected earlier, with the same
/// template, is left out; the default comes back if it was only slow. Earlier times decide the
/// order and nothing more: the best of them come early, the others last.
Selection select(const Knowledge& knowledge, const Effort& effort);

/// Takes exactly `knowledge.ranked`, in its order, with the default before them.
Selection select_given(const Knowledge& knowledge);

}  // namespace tunedgemm
