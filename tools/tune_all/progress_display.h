#pragma once

// What a person sees on the standard error stream while shapes are tuned: on a terminal one line
// that is rewritten in place, else one line a shape. It moves the cursor, so that it writes to
// std::clog, which run_program() leaves as it is.

#include <chrono>
#include <string>

#include "runtime/context/context.h"
#include "tools/shared/shape.h"

namespace tunedgemm::internal {

/// Used by one thread.
class ProgressDisplay {
 public:
  enum class Style { kInPlace, kLines };

  /// `to_tune` of `shapes` shapes are not yet in the cache: only these take time.
  ProgressDisplay(Style style, int shapes, int to_tune)
      : style_(style), shapes_(shapes), to_tune_(to_tune) {}

  void shape_begins(const Shape& shape);
  void shape_moves(const Progress& progress);
  void shape_ends(const TuneResult& result);
  /// Leaves the cursor at the beginning of an empty line.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  double seconds_left() const;
  void rewrite(const std::string& text);

  Style style_;
  int shapes_;
  int to_tune_;
  int ended_ = 0;
  int tuned_ = 0;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_rewrite_;
  std::string shape_text_;
};

}  // namespace tunedgemm::internal
