#pragma once

// BenchFiles: the results of a bench on disk, row by row, so that an interrupted run keeps what is
// done.
//
//   CSV    A line for each contender of each shape; the first line names the columns.
//   JSON   {"device": ..., "rows": [{"m": ..., "contenders": [{"contender": "tuned", ...}]}]}; the
//          document is whole after every row. tools/plot_bench.py draws it.
//
// What is not known (a clock, a part of the roofline) is an empty cell, or null.

#include <filesystem>
#include <fstream>

#include "tools/tunedgemm/bench_result.h"

namespace tunedgemm::internal {

/// Used by one thread.
class BenchFiles {
 public:
  /// An empty path: no such file. Throws std::runtime_error with a sentence for a file that cannot
  /// be written.
  BenchFiles(BenchRun run, std::filesystem::path csv, std::filesystem::path json);

  /// On disk when it returns. Throws as above.
  void add(const BenchRow& row);

 private:
  void add_csv(const BenchRow& row);
  void add_json(const BenchRow& row);

  BenchRun run_;
  std::filesystem::path csv_path_, json_path_;
  std::ofstream csv_, json_;
  std::ofstream::pos_type json_end_;  ///< where the next row goes
  bool json_has_rows_ = false;
};

}  // namespace tunedgemm::internal
