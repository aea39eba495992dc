#pragma once

// What the programs do about disks that are full: a program that could not write what it was started
// for says so, and does not end as if all were well.

#include <string_view>

namespace tunedgemm::internal {

/// The exit status of a program that could not write its results.
constexpr int kCannotWrite = 4;

/// Call it last: the program's exit status, kCannotWrite in place of 0 if not everything that was
/// printed has arrived, which it says on the standard error stream.
int status_after_output(int status, std::string_view program);

}  // namespace tunedgemm::internal
