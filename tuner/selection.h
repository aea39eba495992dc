#pragma once

// Selection: which candidates are tried, and in which order. The default comes first, so that it is
// tried even on the smallest budget. Then come candidates known to be good. Then come the best
// candidates of every family that may win, and then the cost model's best candidates, spread over
// different tiles, since the model errs equally for similar candidates.

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

/// Whether an earlier rejection, with the same template, compiler and driver, still excludes the
/// candidate. A crash always does, since it may cost the process or the device. Any other outcome
/// of a run (a wrong result, a slow one) does unless the tuning is forced. A failure to compile or
/// to load never does: the sources are the library's own and the candidates legal, so its cause is
/// the memory, the disk or the limits of that moment, whatever the compiler reported.
enum class Retry { kUnbuilt, kAllButCrashes };
bool still_holds(Reason earlier, Retry retry);

/// Everything known before a tuning begins. The views are used only during the call.
struct Knowledge {
  std::span<const Instance> ranked;  ///< legal candidates, in the model's or the given order
  std::optional<Instance> default_candidate;  ///< always races
  std::optional<Instance> baseline;           ///< the naive kernel, not counted as a candidate
  std::span<const Instance> seeds;            ///< of similar devices, then of neighbouring shapes
  std::span<const TrialRecord> earlier;       ///< outcomes for the same problem on this device
  Retry retry = Retry::kUnbuilt;              ///< of those that were rejected earlier
};

struct SelectedCandidate {
  Instance ranked;
  bool is_default = false;
  bool is_baseline = false;
};

struct Selection {
  std::vector<SelectedCandidate> candidates;  ///< in the order to try them, without duplicates
  /// Earlier rejections that still hold: these candidates are not tried again.
  std::vector<TrialRecord> rejected;
  /// Candidates rejected only because they spill registers: tried if no other is valid.
  std::vector<SelectedCandidate> spilling;
};

/// Selects at most `search_limits.candidates`, minus those reserved for refine(), and the baseline.
/// Leaves out candidates whose earlier rejection still_holds(), except a default that was only
/// slow. Earlier times affect only the order: the fastest candidates come early, other timed ones
/// last.
Selection select(const Knowledge& knowledge, const SearchLimits& search_limits);

/// Selects `search_limits.refinements` more candidates when half of select()'s have been tried.
/// First come variants of `best`, the fastest candidates so far. Variants have the same tiles, but
/// other orders and clusters. At most half of the variants share a tile. Then come the next
/// candidates in the cost model's order. Leaves out the candidates of select() (`selected`) and
/// those tried earlier (`knowledge.earlier`).
Selection refine(const Knowledge& knowledge, std::span<const Instance> best,
                 std::span<const SelectedCandidate> selected, const SearchLimits& search_limits);

/// Selects the default and then all of `knowledge.ranked`, in its order, except candidates that
/// were rejected earlier.
Selection select_given(const Knowledge& knowledge);

struct Ranking {
  std::vector<Instance> ranked;      ///< legal candidates, in the model's or the given order
  std::vector<TrialRecord> earlier;  ///< outcomes for the same problem on this device
  std::vector<TrialRecord> crashes;  ///< those of `earlier`
  Retry retry = Retry::kUnbuilt;
  /// After too many crashes of workers, `selection` has only candidates that were timed before.
  bool only_those_that_ran = false;
  Selection selection;
};

/// The ranked candidates and earlier outcomes, without default, baseline and seeds. A view of
/// `ranking`.
Knowledge knowledge_of(const Ranking& ranking);

/// Step 0: combines the cost model, the problem's finalists on similar devices if it has no winner
/// here, the winners of neighbouring shapes, and earlier outcomes for the problem, and selects.
Ranking rank(const Task& task, const SearchLimits& search_limits);

}  // namespace tunedgemm::internal
