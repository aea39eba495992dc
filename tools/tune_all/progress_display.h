#pragma once

// What a person sees while shapes are tuned: on a terminal one line that is rewritten in place,
// else one line a shape.

#include <chrono>
#include <iosfwd>
#include <string>

#include "runtime/context/context.h"
#include "tools/shared/shape.h"

namespace tunedgemm::internal {

/// Used by one thread.
class ProgressDisplay {
 public:
  enum class Style { kInPlace, kLines };

  /// `to_tune` of `shapes` shapes are not yet in the cache: only these take time.
  ProgressDisplay(std::ostream& out, Style style, int shapes, int to_tune);

  void shape_begins(const Shape& shape);
  void shape_moves(const Progress& progress);
  void shape_ends(const TuneResult& result);
  /// Leaves the cursor at the beginning of an empty line.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  double seconds_left() const;
  void rewrite(const std::string& text);

  std::ostream& out_;
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
