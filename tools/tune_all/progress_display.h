#pragma once

// ProgressDisplay shows how far a session is, on standard error.

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/context/context.h"
#include "tools/shared/named_problem.h"
#include "tuner/search_limits.h"

namespace tunedgemm::internal {

/// The word for an outcome, which tables, progress and JSON share.
std::string_view name(TuneResult::Kind kind);

/// The contents of a line of progress.
struct SessionProgress {
  std::size_t shape = 1, shapes = 1;  ///< the shape at work counts from 1
  double share = 0;                   ///< of the session's work that is done, 0 to 1
  double elapsed_seconds = 0;
  double seconds_left = 0;                        ///< 0: not known yet
  std::string shape_text;                         ///< of several shapes at work: all of them
  std::optional<Progress> tuning = std::nullopt;  ///< of the shape at work, if it is only one
  bool is_stopping = false;
};

/// "[####------] 4/9  12 s, 18 s left  up f16→f16 nn  screen 3/32  best 12.3 us", at most `width`
/// characters. If it is too long, the best time is left out first, then the phase, then the end of
/// the shape; a narrow line has no bar. While the session stops after an interrupt, a sentence
/// about that stands before the shape, and there is neither a bar nor the time left.
std::string progress_line(const SessionProgress& progress, std::size_t width);

/// The share of a shape's tuning that is done, 0 to 1: of its candidates or of its time limit,
/// whichever is greater.
double share_of_tuning(const Progress& progress, double seconds, const SearchLimits& search_limits);

/// On a terminal, one line that is rewritten in place; otherwise one line per shape. It moves the
/// cursor with escape sequences and therefore writes to std::clog, the only stream in which
/// run_program() does not escape them. Thread-safe.
class ProgressDisplay {
 public:
  /// `to_tune` of the `shapes` shapes are not in the cache. The time left is estimated from these;
  /// it is at most what is left of `total_seconds`, unless that is 0.
  ProgressDisplay(std::size_t shapes, std::size_t to_tune, std::size_t devices,
                  double total_seconds);

  void shape_begins(std::size_t device, const NamedProblem& shape,
                    const SearchLimits& search_limits);
  void shape_progresses(std::size_t device, const Progress& progress);
  /// Shows the time that has passed, and answers an interrupt. Call it often: it does nothing
  /// between two rewrites.
  void refresh();
  void shape_ends(std::size_t device, const TuneResult& result);
  /// Leaves the cursor at the beginning of an empty line.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  struct ShapeAtWork {
    std::string text;  ///< empty: none
    Clock::time_point begin;
    SearchLimits search_limits;
    Progress progress;
    double share = 0;
  };

  // Precondition of these: mutex_ is held.
  static double seconds_since(Clock::time_point begin);
  double share() const;
  double seconds_left() const;
  void show();
  void rewrite(const std::string& text);

  std::mutex mutex_;
  bool is_terminal_;
  std::size_t shapes_, to_tune_;
  double total_seconds_;
  std::size_t ended_ = 0, tuned_ = 0;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_rewrite_;
  bool is_stopping_ = false;          ///< the user has been told
  std::vector<ShapeAtWork> at_work_;  ///< by each device
};

}  // namespace tunedgemm::internal
