#pragma once

// How the results of a bench are told: a line for each shape while it runs, the table and the means
// at its end; and files, row by row, so that an interrupted run keeps what is done.
//
//   CSV    A line for each contender of each shape; the first line names the columns.
//   JSON   {"device": ..., "rows": [{"m": ..., "contenders": [{"contender": "tuned", ...}]}]}; the
//          document is whole after every row. tools/plot_bench.py draws it.
//
// What is not known (a clock, a part of the roofline) is an empty cell, or null.

#include <chrono>
#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "tools/tunedgemm/bench_result.h"

namespace tunedgemm::internal {

/// Used by one thread.
class BenchFiles {
 public:
  /// An empty path: no such file. Throws std::runtime_error with a sentence for a file that cannot
  /// be written.
  BenchFiles(BenchRun run, std::string csv_path, std::string json_path);

  /// On disk when it returns. Throws as above.
  void add(const BenchRow& row);

 private:
  void write() const;

  BenchRun run_;
  std::string csv_path_, json_path_;
  std::string csv_;
  std::vector<std::string> json_rows_;
};

/// A line for each shape, below it one for each family that was asked for, and one for each shape
/// that failed. `baseline` is the name of the other library, "" where there is none.
void print_table(std::ostream& out, const std::vector<BenchRow>& rows, const std::string& baseline);
/// Geometric means and the least ratio, against the baseline's default and its best; nothing where
/// the baseline took no part.
void print_means(std::ostream& out, const std::vector<BenchRow>& rows, const std::string& baseline);
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
