#pragma once

// TrialLog: stores the outcome of every candidate as soon as it is known; the store writes it
// within a second. If a tuning is killed, the next tuning of the problem knows the outcomes so far
// and does not run a crashing candidate again.

#include <cstddef>
#include <string>
#include <vector>

#include "tuner/tune.h"

namespace tunedgemm::internal {

/// Used by one thread. Refers to the task.
class TrialLog {
 public:
  explicit TrialLog(const Task& task) : task_(task) {}

  /// From now on each outcome is in the file at once, not within a second: candidates crash, and
  /// what has run must not be lost with the worker.
  void write_at_once() { writes_at_once_ = true; }

  /// Takes over outcomes that the store already has.
  void adopt(std::vector<TrialRecord> trials) { trials_ = std::move(trials); }

  /// Begins a new line for the candidate, which replaces its old line if there is one. Returns the
  /// line's number. The new line is not stored yet.
  std::size_t open(const Instance& instance);
  TrialRecord& at(std::size_t line) { return trials_[line]; }
  /// Stores the line's current state.
  void write(std::size_t line) const;
  void reject(std::size_t line, Reason reason, std::string detail);
  void reject(std::size_t line, const Rejection& rejection);

  const std::vector<TrialRecord>& trials() const { return trials_; }

 private:
  const Task& task_;
  std::vector<TrialRecord> trials_;
  bool writes_at_once_ = false;
};

/// Marks a candidate, or a race (race_mark), as running. The mark stays in the store if the process
/// dies, or if an exception is thrown (a lost device). A mark that is left over counts as a crash
/// of the candidate or, after a race, of the GEMM problem as a whole, because the guilty candidate
/// is unknown. A worker marks nothing, because its caller knows which candidate runs.
class [[nodiscard]] InFlight {
 public:
  InFlight(const Task& task, const TrialRecord& trial);
  ~InFlight();
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

 private:
  bool marks() const { return !task_.options.in_worker(); }

  const Task& task_;
  int exceptions_;
};

}  // namespace tunedgemm::internal
