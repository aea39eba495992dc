#pragma once

// What the programs do about disks that are full: a program that could not write what it was started
// for says so, and does not end as if all were well.

#include <string_view>

namespace tunedgemm {

/// The exit status of a program that could not write its results.
constexpr int kCannotWrite = 4;

/// Call it last: whether everything that was printed has arrived. If not, says so on the standard
/// error stream.
bool standard_output_arrived(std::string_view program);

}  // namespace tunedgemm
