#pragma once

// The protocol between a tuning worker and its caller. A line is a word and its fields, separated
// by spaces; the last field may contain spaces. The worker exits at the end of its input. The
// caller sends:
//
//     candidate CANDIDATE               one of the candidates to which the next tuning is limited
//     next PROBLEM                      the problem after the next tuning's
//     tune RIGOR SECONDS CANDIDATES SEED BACKGROUND CANDIDATE_SECONDS PROBLEM
//     cancel                            ends the tuning early; the tuning's result follows
//
// The worker sends:
//
//     log LEVEL SENTENCE
//     progress PHASE DONE TOTAL BEST_US
//     running SECONDS CANDIDATE         CANDIDATE counts as hung after SECONDS; empty: none runs
//     done KIND CANCELLED LEASED UNSAVED SENTENCE     the TuneResult
//     failed KIND SENTENCE              a DeviceError; the worker exits if the device is lost, or
//                                       cannot be opened
//
// After any other line the worker counts as crashed, because a candidate may have corrupted the
// worker's memory.

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel_templates/base/log.h"
#include "runtime/device.h"
#include "runtime/tuning/tuner.h"

namespace tunedgemm::internal {

/// A program such as tune-all becomes a worker if this is its first argument.
inline constexpr std::string_view kWorkerFlag = "--tuning-worker";

/// The device and cache that a worker opens.
struct WorkerPlace {
  std::string backend;
  int ordinal = 0;
  int host_threads = 0;
  int compile_threads = 0;
  std::string cache;            ///< a path
  std::string shared_binaries;  ///< ContextOptions::shared_binaries
};
/// The arguments after kWorkerFlag, and back; empty if there are fewer or more.
std::vector<std::string> to_arguments(const WorkerPlace& place);
std::optional<WorkerPlace> to_worker_place(std::span<const char* const> arguments);

/// The longest time limit for a tuning or for one of its candidates.
inline constexpr double kLongestLimitSeconds = 1e6;

/// Reads the fields of a line from the left.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : left_(line) {}
  /// The text up to the next space; empty at the end of the line.
  std::string_view word();
  /// The next word as a number; 0 if the word does not start with a finite number.
  double number();
  /// The next number, truncated and clamped to the range of int.
  int integer();
  /// The enumerator with the next number. Empty unless the number is from 0 to `last`.
  template <class Enum>
  std::optional<Enum> enumerator(Enum last) {
    const int number = integer();
    return number >= 0 && number <= static_cast<int>(last)
               ? std::optional(static_cast<Enum>(number))
               : std::nullopt;
  }
  /// The rest of the line, with line breaks restored.
  std::string rest() const;

 private:
  std::string_view left_;
};
/// The text as the last field of a line, with line breaks escaped.
std::string in_one_line(std::string_view text);

inline constexpr std::string_view kCancelLine = "cancel";

/// A request to tune a problem.
struct WorkerRequest {
  CanonicalProblem problem;
  TuneOptions options;
};
/// The lines `candidate`, `next` and `tune`, without the last line break.
std::string to_lines(const CanonicalProblem& problem, const TuneOptions& options);
/// The request of a line `tune`, without candidates and next problem; empty if the line is not
/// valid.
std::optional<WorkerRequest> parse_request(std::string_view line);
/// The text of a line `candidate`; empty if it is another line.
std::optional<std::string> candidate_text(std::string_view line);

/// The problem of a valid line `next`; empty if it is another line.
std::optional<CanonicalProblem> next_problem(std::string_view line);

/// The lines that the worker sends.
std::string log_line(LogLevel level, std::string_view sentence);
std::string to_line(const Progress& progress);
std::string running_line(const Candidate* candidate, double seconds);
std::string done_line(const TuneResult& result);
std::string failed_line(DeviceError::Kind kind, std::string_view sentence);

/// The caller's state of one tuning, updated by each line from the worker. Used by one thread. The
/// options must outlive the conversation.
class WorkerConversation {
 public:
  enum class Next { kListen, kDone, kLost };

  explicit WorkerConversation(const TuneOptions& options) : options_(options) {}

  /// Handles the worker's next line. Throws the DeviceError that the worker reports, but returns
  /// kLost if the device is lost. Exceptions of the callbacks in `options` pass through.
  Next take(std::string_view line);

  /// Whether the worker has sent a valid line.
  bool has_spoken() const { return has_spoken_; }
  /// The running candidate, as text; empty while none runs.
  const std::string& at_work() const { return at_work_; }
  /// The time from which the running candidate counts as hung; time_point::max() while none runs.
  std::chrono::steady_clock::time_point hung_at() const { return hung_at_; }
  /// The time limit of the running candidate.
  double seconds() const { return seconds_; }
  /// The error that the worker reported, or a sentence that quotes its invalid line; otherwise
  /// empty.
  const std::string& failure() const { return failure_; }
  /// Valid once take() has returned kDone. The result has no record.
  TuneResult& result() { return result_; }

 private:
  bool take_log(LineReader& fields);
  bool take_progress(LineReader& fields);
  bool take_running(LineReader& fields);
  bool take_result(LineReader& fields);
  bool take_failure(LineReader& fields);
  Next lost(std::string_view line);

  const TuneOptions& options_;
  TuneResult result_;
  bool has_spoken_ = false;
  std::string at_work_;
  double seconds_ = 0;
  std::chrono::steady_clock::time_point hung_at_ = std::chrono::steady_clock::time_point::max();
  std::string failure_;
};

}  // namespace tunedgemm::internal
