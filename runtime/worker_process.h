#pragma once

// A worker: a process that tunes for another one, which stays as it is whatever a candidate does.
// Both use the same cache file. The worker opens the device for itself, takes the lease of each
// problem that it is told, and stores trials and winner as every tuning does; its process can be
// ended at any moment, and another one goes on from what is stored.
//
// They talk in lines over a socket, which is the worker's standard input (TalkingChild). A line is
// a word and, behind a space each, its fields, of which the last one may have spaces:
//
//     tune RIGOR SECONDS CANDIDATES SEED WHOLE CANDIDATE_SECONDS PROBLEM     asks for a tuning
//     yes, no                                                 the answer to may-go-on
//
//     tuning-worker                     said at once, by which a worker is known
//     ready                             the device is open; or else
//     no-device KIND SENTENCE           as DeviceError tells it
//     began                             what follows is of the tuning that was asked for
//     progress PHASE DONE TOTAL BEST_US
//     may-go-on                         whether the tuning is not cancelled; waits for the answer
//     running SECONDS CANDIDATE         the candidate is at work, and has hung after these seconds
//     back                              it no longer is
//     alive                             the process runs, every two seconds of a tuning
//     warning SENTENCE, info SENTENCE   for the log
//     device-failed SENTENCE            the worker cannot go on; the candidate at work is to blame
//     no-memory SENTENCE, unavailable SENTENCE     the device is as it was
//     done ORIGIN CANCELLED LEASED UNSAVED SENTENCE     what TuneResult tells; the end
//
// A worker that says anything else is lost, as one that crashed (worker_conversation.h).

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tuning/tuning_session.h"

namespace tunedgemm::internal {

/// The first argument of a program that is to be a worker: tune-all is one.
inline constexpr std::string_view kBeWorker = "--tuning-worker";

/// A worker's first line.
inline constexpr std::string_view kGreeting = "tuning-worker";

/// $TUNEDGEMM_WORKER of a worker, and of every program that is to have none: a program that is its
/// own worker would start itself without end.
inline constexpr std::string_view kNoWorker = "none";

/// How a worker is started: its program, kBeWorker, and what it opens.
struct WorkerPlace {
  std::string backend;
  int ordinal = 0;
  int host_threads = 0;
  std::string cache;  ///< the path of the file
};
std::vector<std::string> to_arguments(const WorkerPlace& place);

/// What main does with the arguments behind kBeWorker; returns its exit status. The worker ends
/// when its input does, and after some seconds without a request, so that no idle one holds memory
/// of a GPU. `compile_command`: see Device::compile_by.
int work_as_told(std::span<const char* const> arguments,
                 const std::vector<std::string>& compile_command);

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
  /// The same as it stands in the line.
  std::string_view left() const { return left_; }

 private:
  std::string_view left_;
};
/// The text as a last field.
std::string in_one_line(std::string_view text);

/// What is asked of a worker: the line that begins with "tune".
struct WorkerRequest {
  Problem problem;
  TuneOptions options;
};
std::string to_line(const Problem& problem, const TuneOptions& options);
/// Empty for a line that asks for no tuning, or for none of this version.
std::optional<WorkerRequest> parse_request(std::string_view line);

}  // namespace tunedgemm::internal
