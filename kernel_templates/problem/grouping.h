#pragma once

// Grouped products: the batch indices (groups) of a problem have different extents, which a kernel
// reads from an array of int32 in memory of the device. Kernels include this file, so it is plain
// C++ without the standard library.

#include "../cuda/common/host_device.cuh"

namespace tunedgemm::internal {

/// What the array of a grouped product contains for each group. `end` means that groups follow each
/// other, and each begins where the one before it ends. The numbers cross the C ABI, and
/// fingerprints of kernels depend on them: never renumber.
enum class GroupKind : int {
  kNone = 0,    ///< a batch: all have the same extents
  kRows = 1,    ///< ends of rows: the groups share the M rows of A, C and D
  kCounts = 2,  ///< numbers of rows: a group has the first ones of its own M rows
  kDepth = 3,   ///< ends along K: the groups share the K columns of A and rows of B
  kRanges = 4,  ///< as kRows, but the begin and the end of each group, with gaps between groups
};

TUNEDGEMM_CONSTEXPR bool shares_rows(GroupKind kind) {
  return kind == GroupKind::kRows || kind == GroupKind::kRanges;
}
TUNEDGEMM_CONSTEXPR bool groups_rows(GroupKind kind) {
  return shares_rows(kind) || kind == GroupKind::kCounts;
}
TUNEDGEMM_CONSTEXPR int numbers_of_group(GroupKind kind) {
  return kind == GroupKind::kNone ? 0 : kind == GroupKind::kRanges ? 2 : 1;
}

struct GroupRange {
  long long begin, end;
};

/// A group's part of `extent` rows, or of K. Numbers outside [0, extent] count as the nearest one
/// inside; a group that would end before it begins is empty.
TUNEDGEMM_CONSTEXPR GroupRange range_of_group(GroupKind kind, const int* numbers, long long group,
                                              long long extent) {
  const auto inside = [extent](long long number) {
    return number < 0 ? 0 : number > extent ? extent : number;
  };
  const long long at = kind == GroupKind::kRanges ? 2 * group + 1 : group;
  const long long end = inside(numbers[at]);
  const long long begin = kind == GroupKind::kCounts || at == 0 ? 0 : inside(numbers[at - 1]);
  return {begin, end < begin ? begin : end};
}

/// The rows of a batch index: all, unless rows are grouped.
TUNEDGEMM_CONSTEXPR GroupRange rows_of_group(GroupKind kind, const int* numbers, long long group,
                                             long long m) {
  return groups_rows(kind) ? range_of_group(kind, numbers, group, m) : GroupRange{0, m};
}
/// The elements along K of a batch index: all, unless K is grouped.
TUNEDGEMM_CONSTEXPR GroupRange depth_of_group(GroupKind kind, const int* numbers, long long group,
                                              long long k) {
  return kind == GroupKind::kDepth ? range_of_group(kind, numbers, group, k) : GroupRange{0, k};
}

/// The rows of tiles of a batch index. If rows are grouped, the most that all groups may need
/// together, since each may have a partial tile.
TUNEDGEMM_CONSTEXPR long long most_tile_rows(GroupKind kind, long long groups, long long m,
                                             int block_m) {
  const long long tiles = (m + block_m - 1) / block_m;
  return shares_rows(kind)            ? (m + groups * (block_m - 1)) / block_m
         : kind == GroupKind::kCounts ? groups * tiles
                                      : tiles;
}

}  // namespace tunedgemm::internal
