#pragma once

// The text that a bench prints: a line for each shape while it runs, the table and the means at its
// end.

#include <chrono>
#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "tools/tunedgemm/bench_result.h"

namespace tunedgemm::internal {

/// A line for each shape, below it one for each family that was asked for, and one for each shape
/// that failed. `baseline` is the name of the other library, "" where there is none.
void print_table(std::ostream& out, const std::vector<BenchRow>& rows, const std::string& baseline);
/// Geometric means and the least ratio, against the baseline's default and its best; nothing where
/// the baseline took no part.
void print_means(std::ostream& out, const std::vector<BenchRow>& rows, const std::string& baseline);
/// "812 TFLOP/s, 1.03x the default, 1.01x the best": one shape, while others follow.
std::string result_text(const BenchRow& row);

/// A line for each shape, with the time that is left. Used by one thread.
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
