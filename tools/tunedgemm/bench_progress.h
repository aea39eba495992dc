#pragma once

// BenchProgress: a line for each shape of a bench, with the time that is left.

#include <chrono>
#include <cstddef>
#include <iosfwd>

#include "tools/tunedgemm/bench_result.h"

namespace tunedgemm::internal {

/// Used by one thread.
class BenchProgress {
 public:
  BenchProgress(std::ostream& out, std::size_t shapes) : out_(out), shapes_(shapes) {}

  /// The first half of the line.
  void shape_begins(const Shape& shape);
  /// The second half, and the remarks below it.
  void shape_ends(const BenchRow& row);

 private:
  std::ostream& out_;
  std::size_t shapes_;
  std::size_t ended_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace tunedgemm::internal
