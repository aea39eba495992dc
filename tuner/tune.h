#pragma once

// tune(): from a problem to a winner. The steps, one screen of code in tune.cpp: rank, compile,
// check, screen, finals, decide. See the README of this folder for what each step promises.

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
  double seconds = 0;  ///< for this problem; 0: what the rigor gives
  int candidates = 0;  ///< how many are compiled and checked; 0: what the rigor gives
};

enum class Phase { kRank, kCompile, kCheck, kScreen, kFinals, kDone };
std::string_view name(Phase phase);

struct Progress {
  Phase phase = Phase::kRank;
  int done = 0, total = 0;  ///< candidates, of which more may come; or rounds in the finals
  double best_us = 0;       ///< 0 until something was timed
};

/// What a candidate takes with it that crashes: the caller, or a worker that is started anew.
enum class CrashCost { kCaller, kWorker };

struct TuneOptions {
  Rigor rigor = Rigor::kNormal;
  Budget budget;
  /// Empty: all legal candidates in the cost model's order. Else exactly these, in this order (and
  /// the default). All must be legal.
  std::vector<Candidate> candidates;
  /// What a challenger must beat; empty: default_candidate().
  std::optional<Candidate> default_candidate;
  std::uint64_t seed = 0;  ///< of the shuffled order of the finals
  /// May be empty; called from the tuning thread.
  std::function<void(const Progress&)> on_progress;
  /// May be empty; asked between candidates and rounds. It may wait, for the device to be idle:
  /// that time is not the tuning's.
  std::function<bool()> cancelled;
  /// Of a tuning that is cancelled only the outcomes are kept, from which the next one goes on, and
  /// no winner.
  bool must_be_whole = false;
  /// Decides how many crashes end the tuning of a problem; see tuner/crashes.h.
  CrashCost crash_cost = CrashCost::kCaller;
  /// May be empty; called before a candidate is loaded, checked or timed, with the seconds after
  /// which it has hung, and with null when it has come back.
  std::function<void(const Candidate*, double seconds)> on_candidate;
  /// Of these seconds what a candidate gets beside the time that the cost model expects; 0: 30.
  double candidate_seconds = 0;
};

struct Tuning {
  /// Empty if no candidate was valid; then `failure` says why in a sentence.
  std::optional<Record> record;
  std::string failure;
  Source winner_source;
  Binary winner_binary;
  std::vector<TrialRecord> trials;  ///< every candidate that was tried, with its outcome
  bool cancelled = false;
};

/// Tunes the canonical problem with the evaluator. Takes earlier outcomes from the store and writes
/// each new one to it, but not the winner: that is the caller's `store.put`. Throws nothing of its
/// own; an evaluator's exception (a lost device) passes through.
Tuning tune(const Problem& problem, const DeviceIdentity& device, const Toolchain& toolchain,
            const DeviceLimits& limits, Evaluator& evaluator, Store& store,
            const TuneOptions& options);

/// What tune() was called with. Everything is referred to, nothing owned; lives as long as the
/// call.
struct Task {
  const Problem& problem;
  const DeviceIdentity& device;
  const Toolchain& toolchain;
  const DeviceLimits& limits;
  Evaluator& evaluator;
  Store& store;
  const TuneOptions& options;
};

}  // namespace tunedgemm::internal
