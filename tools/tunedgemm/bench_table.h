#pragma once

// What a person sees of a bench at its end.

#include <iosfwd>
#include <string>
#include <vector>

#include "tools/tunedgemm/bench_result.h"

namespace tunedgemm::internal {

/// A line for each shape, below it one for each family that was asked for, and one for each shape
/// that failed. `vendor` is the name of the other library, "" where there is none.
void print_table(std::ostream& out, const std::vector<BenchRow>& rows, const std::string& vendor);
/// Geometric means and the least ratio, against the vendor's default and its best; nothing where
/// the vendor took no part.
void print_means(std::ostream& out, const std::vector<BenchRow>& rows, const std::string& vendor);
/// "812 TFLOP/s, 1.03x the default, 1.01x the best": one shape, while others follow.
std::string result_text(const BenchRow& row);

}  // namespace tunedgemm::internal
