#pragma once

// The output of the verbs that race kernels: bench has a line for each shape while it runs, and a
// table and the means at the end; ladder and sweep have a table for each shape. Files are written
// row by row, so that an interrupted run keeps its results.
//
//   JSON   {"device": ..., "rows": [{"m": ..., "contenders": [{"contender": "tuned", ...}]}]}; the
//          document is complete after every row. tools/plot/plot_bench.py draws it.
//   CSV    One line per contender of each shape, with the JSON's members as columns.
//
// Unknown values (clock, fraction of the roofline) are null, or empty cells.

#include <chrono>
#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "tools/shared/results.h"
#include "tools/tunedgemm/bench_result.h"

namespace tunedgemm::internal {

/// A row of the JSON document.
Json to_json(const BenchRow& row);

/// Used by one thread.
class BenchFiles {
 public:
  /// No file is written for an empty path. Throws std::runtime_error if a file cannot be written.
  BenchFiles(BenchRun run, std::string csv_path, std::string json_path);

  /// The row is in the files when the call returns. Throws std::runtime_error if a file cannot be
  /// written.
  void add(const BenchRow& row);

 private:
  void write() const;

  BenchRun run_;
  std::string csv_path_, json_path_;
  std::vector<Json> lines_;  ///< of the CSV file
  std::vector<std::string> json_rows_;
};

/// Each shape has a line, followed by a line for each of our other contenders, in the columns that
/// fit in `width`. `baseline` is the name of the other library, or "".
void print_table(std::ostream& out, const std::vector<BenchRow>& rows, const std::string& baseline,
                 std::size_t width);
/// The shape, a line for each contender, and the remarks. kSteps compares each contender with the
/// one before it; kFastestFirst shows all of its config.
enum class Contenders { kSteps, kFastestFirst };
void print_contenders(std::ostream& out, const BenchRow& row, Contenders contenders,
                      std::size_t width);
/// The reasons of the failed shapes; geometric means and extremes of the winners' speedups over our
/// other contenders, and over the baseline's default and best proposals if the baseline took part.
void print_summary(std::ostream& out, const std::vector<BenchRow>& rows,
                   const std::string& baseline);
/// Prints one line per shape, with the remaining time. Used by one thread.
class BenchProgress {
 public:
  BenchProgress(std::ostream& out, std::size_t shapes) : out_(out), shapes_(shapes) {}

  /// The first half of the line.
  void shape_begins(const NamedProblem& shape);
  /// The second half, and the remarks below it.
  void shape_ends(const BenchRow& row);

 private:
  std::ostream& out_;
  std::size_t shapes_;
  std::size_t ended_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace tunedgemm::internal
