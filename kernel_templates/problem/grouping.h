#pragma once

// Grouped products: the batch indices (groups) of a problem have different extents, which a kernel
// reads from an array of int32 in memory of the device. Kernels include this file, so it is plain
// C++ without the standard library.

#include "../cuda/common/host_device.cuh"

namespace tunedgemm::internal {

/// The array of a grouped product, one number for each group. `end` means that groups follow each
/// other, and each begins where the one before it ends. The numbers cross the C ABI, and
/// fingerprints of kernels depend on them: never renumber.
enum class GroupKind : int {
  kNone = 0,    ///< a batch: all have the same extents
  kRows = 1,    ///< ends of rows: the groups share the M rows of A, C and D
  kCounts = 2,  ///< numbers of rows: a group has the first ones of its own M rows
  kDepth = 3,   ///< ends along K: the groups share the K columns of A and rows of B
};

struct GroupRange {
  long long begin, end;
};

/// A group's part of `extent` rows (kRows, kCounts) or columns of A (kDepth). Numbers outside
/// [0, extent] count as the nearest one inside; a group that would end before it begins is empty.
TUNEDGEMM_CONSTEXPR GroupRange range_of_group(GroupKind kind, const int* numbers, long long group,
                                              long long extent) {
  const auto inside = [extent](long long number) {
    return number < 0 ? 0 : number > extent ? extent : number;
  };
  const long long end = inside(numbers[group]);
  const long long begin = kind == GroupKind::kCounts || group == 0 ? 0 : inside(numbers[group - 1]);
  return {begin, end < begin ? begin : end};
}

}  // namespace tunedgemm::internal
