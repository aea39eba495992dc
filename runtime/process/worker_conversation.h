#pragma once

// The lines between a tuning worker and its caller. A line is a word and, behind a space each, its
// fields; the last one may have spaces. The caller asks, and the worker ends at the end of its input:
//
//     tune RIGOR SECONDS CANDIDATES SEED WHOLE CANDIDATE_SECONDS PROBLEM
//     cancel                            ends the tuning, whose result then comes early
//
// The worker answers:
//
//     log LEVEL SENTENCE
//     progress PHASE DONE TOTAL BEST_US
//     running SECONDS CANDIDATE         the candidate has hung after these seconds; none: 0 seconds
//     done ORIGIN CANCELLED LEASED UNSAVED SENTENCE     the TuneResult
//     failed KIND SENTENCE              a DeviceError; a worker that has lost the device ends
//
// A candidate may have damaged the worker: any other line loses it, as a crash does.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "kernel_templates/base/log.h"
#include "runtime/device.h"
#include "runtime/tuning/tuning_session.h"

namespace tunedgemm::internal {

/// Fields of a line, taken from its front.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : left_(line) {}
  /// Up to the next space; empty at the end.
  std::string_view word();
  /// 0 for what is no finite number.
  double number();
  /// The same as an integer, or the nearest one that there is.
  int integer();
  /// The number of an enumerator of those up to `last`; empty for another number.
  template <class Enum>
  std::optional<Enum> enumerator(Enum last) {
    const int number = integer();
    return number >= 0 && number <= static_cast<int>(last)
               ? std::optional(static_cast<Enum>(number))
               : std::nullopt;
  }
  /// All that is left, with its line breaks.
  std::string rest() const;

 private:
  std::string_view left_;
};
/// The text as a last field.
std::string in_one_line(std::string_view text);

inline constexpr std::string_view kCancelLine = "cancel";

/// A line that asks for a tuning.
struct WorkerRequest {
  Problem problem;
  TuneOptions options;
};
std::string to_line(const Problem& problem, const TuneOptions& options);
/// Empty for a line that asks for no tuning, or for none of this version.
std::optional<WorkerRequest> parse_request(std::string_view line);

/// The worker's lines.
std::string log_line(LogLevel level, std::string_view sentence);
std::string to_line(const Progress& progress);
std::string running_line(const Candidate* candidate, double seconds);
std::string done_line(const TuneResult& result);
std::string failed_line(DeviceError::Kind kind, std::string_view sentence);

/// The caller's side of a tuning: its state, made from the worker's lines. Used by one thread. The
/// options must outlive it.
class WorkerConversation {
 public:
  enum class Next { kListen, kDone, kLost };

  explicit WorkerConversation(const TuneOptions& options) : options_(options) {}

  /// Takes the worker's next line. Throws DeviceError if the worker tells one after which it goes
  /// on, and what `options` throw.
  Next take(std::string_view line);

  /// Whether it has said a line of the protocol.
  bool has_spoken() const { return has_spoken_; }
  /// The candidate that runs, as text; empty while none does.
  const std::string& at_work() const { return at_work_; }
  /// When that candidate has hung, and after how many seconds; the end of time while none runs.
  std::chrono::steady_clock::time_point hung_at() const { return hung_at_; }
  double seconds() const { return seconds_; }
  /// Why the worker says that it ends, or which line was none; empty if neither was the case.
  const std::string& failure() const { return failure_; }
  /// After kDone. Without the record.
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
