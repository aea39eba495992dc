#pragma once

// TrialLog: what came of every candidate, told to the store as it happens, so that a tuning which
// is killed loses nothing and does not meet its killer again.

#include <cstddef>
#include <string>
#include <vector>

#include "tuner/tune.h"

namespace tunedgemm::internal {

/// Used by one thread. Refers to the task.
class TrialLog {
 public:
  explicit TrialLog(const Task& task) : task_(task) {}

  /// Takes over outcomes that the store has already.
  void adopt(std::vector<TrialRecord> trials) { trials_ = std::move(trials); }

  /// A new line without an outcome, which is not stored yet. Returns its number. A candidate that
  /// has a line already begins anew on it.
  std::size_t open(const Instance& instance);
  TrialRecord& at(std::size_t line) { return trials_[line]; }
  /// Stores the line as it is now.
  void write(std::size_t line) const;
  void reject(std::size_t line, Reason reason, std::string detail);
  void reject(std::size_t line, const Rejection& rejection);

  const std::vector<TrialRecord>& trials() const { return trials_; }

 private:
  const Task& task_;
  std::vector<TrialRecord> trials_;
};

/// Marks a candidate, or a race (race_mark), as running. The mark stays in the store if the process
/// dies, and also if the device is lost, which an exception tells: then this one did it.
class [[nodiscard]] InFlight {
 public:
  InFlight(const Task& task, const TrialRecord& trial);
  ~InFlight();
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

 private:
  const Task& task_;
  int exceptions_;
};

}  // namespace tunedgemm::internal
