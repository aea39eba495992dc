#pragma once

// What a tuning worker says about one problem (worker_process.h has the lines), as its caller takes
// it. The worker may have been damaged by a candidate, or be of another version: a line that is not
// one of the protocol, or not where it may stand, loses the worker and harms nobody else.

#include <chrono>
#include <string>
#include <string_view>

#include "runtime/tuning/tuning_session.h"

namespace tunedgemm::internal {

/// Used by one thread. The options must outlive it.
class WorkerConversation {
 public:
  enum class Next { kListen, kAnswerYes, kAnswerNo, kDone, kLost };

  explicit WorkerConversation(const TuneOptions& options);

  /// Takes the worker's next line and says what follows from it. Throws DeviceError if the worker
  /// tells one after which it goes on, and what `options` throw.
  Next take(std::string_view line);

  /// Of the tuning that was asked for, and not of one before.
  bool has_begun() const { return has_begun_; }
  /// When a worker that has said nothing more counts as lost. While a candidate is at work, what
  /// says nothing about the tuning does not count: another thread of it may do so while a candidate
  /// hangs.
  std::chrono::steady_clock::time_point silence_until() const { return silence_until_; }
  /// The candidate that runs, as text; empty while none does.
  const std::string& at_work() const { return at_work_; }
  /// After how long it has hung.
  double seconds() const { return seconds_; }
  /// Why the worker says that it ends, or which line was none; empty if neither was the case.
  const std::string& failure() const { return failure_; }
  /// After kDone. Without the record.
  TuneResult& result() { return result_; }

 private:
  void listen_from_now();
  void note_heartbeat();
  bool take_progress(std::string_view fields);
  bool take_result(std::string_view fields);

  const TuneOptions& options_;
  TuneResult result_;
  std::chrono::steady_clock::time_point lost_at_;  // heartbeats or not
  std::chrono::steady_clock::time_point silence_until_;
  bool has_begun_ = false;
  std::string at_work_;
  double seconds_ = 0;
  std::string failure_;
};

}  // namespace tunedgemm::internal
