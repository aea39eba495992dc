#pragma once

// tune(): finds the winner for a problem in six steps: rank, compile, check, screen, finals,
// decide. The README of this folder says what each step guarantees.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/record.h"
#include "cache/store.h"
#include "kernel_templates/family.h"
#include "tuner/evaluator.h"

namespace tunedgemm::internal {

struct Budget {
  double seconds = 0;  ///< for this problem; 0: the rigor's default
  int candidates = 0;  ///< the number to compile and check; 0: the rigor's default
};

enum class Phase { kRank, kCompile, kCheck, kScreen, kFinals, kDone };
std::string_view name(Phase phase);

struct Progress {
  Phase phase = Phase::kRank;
  int done = 0, total = 0;  ///< candidates (the total may grow), or rounds in the finals
  double best_us = 0;       ///< 0 until a candidate has been timed
};

struct TuneOptions {
  Rigor rigor = Rigor::kNormal;
  Budget budget;
  /// Empty: all legal candidates in the cost model's order. Otherwise only the legal ones of these,
  /// in this order, after the default.
  std::vector<Candidate> candidates;
  /// The candidate that a challenger must beat; empty: default_candidate().
  std::optional<Candidate> default_candidate;
  /// The problem that will be tuned next, with the same options. A GPU's compilers begin with its
  /// candidates when none of this problem's wait. Ignored with `candidates` or `default_candidate`.
  std::optional<CanonicalProblem> next;
  std::uint64_t seed = 0;  ///< of the shuffled orders in the finals
  /// May be empty; called from the tuning thread.
  std::function<void(const Progress&)> on_progress;
  /// May be empty; called between candidates and rounds. It may wait until the device is idle; that
  /// time does not count against the budget.
  std::function<bool()> cancelled;
  /// Whether the tuning runs beside a program's calls. It then takes at most a tenth of the free
  /// memory. If it is cancelled, its outcomes are kept, but it yields no winner; the next tuning
  /// continues from those outcomes.
  bool in_background = false;
  /// Whether the problem is tuned although the store has its winner. If the tuning is complete, its
  /// result replaces any winner. If it is cancelled, its outcomes are kept, but it yields no
  /// winner.
  bool force = false;
  /// Given in a worker (in_worker()), for the process that restarts the worker after a crash.
  /// Called with a candidate before it is loaded, checked or timed, and with the seconds after
  /// which it counts as hung. Called with null when loading, checking or timing has ended.
  std::function<void(const Candidate*, double seconds)> on_candidate;
  /// A candidate counts as hung after the cost model's estimate plus this many seconds; 0: 30.
  double candidate_seconds = 0;

  /// Whether a crash ends only a worker, not the caller's process. Decides after how many crashes
  /// tuning stops (tuner/crashes.h); see also kOnlyCompileSeconds.
  bool in_worker() const { return on_candidate != nullptr; }
};

struct Tuning {
  /// Empty if no candidate was valid; then `failure` says why.
  std::optional<Record> record;
  std::string failure;
  Source winner_source;
  Binary winner_binary;
  std::vector<TrialRecord> trials;  ///< every candidate that was tried, with its outcome
  bool cancelled = false;
};

/// Tunes the key's problem, which is canonical, with the evaluator. Reads earlier outcomes from the
/// store and writes each new one. The caller stores the winner with `store.put`. Throws nothing of
/// its own; an evaluator's exception (a lost device) passes through.
Tuning tune(const TuningKey& key, const DeviceLimits& limits, Evaluator& evaluator, Store& store,
            const TuneOptions& options);

/// The arguments of tune(). It owns nothing and lives as long as the call.
struct Task {
  const TuningKey& key;
  const DeviceLimits& limits;
  Evaluator& evaluator;
  Store& store;
  const TuneOptions& options;
};

}  // namespace tunedgemm::internal
