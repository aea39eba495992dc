// Rows of tiles of D. Each group of rows has tiles of its own, which begin with its first row. The
// rows of tiles of all groups are numbered together, as if they were those of one batch index. A
// launch has as many as the groups may need, because each may have a partial tile (tiling() of
// geometry.h); the last ones then belong to no group.
#pragma once

#include "problem.cuh"

__device__ __forceinline__ int tiles_along(long long extent, int block) {
  return static_cast<int>((extent + block - 1) / block);
}

// The rows of tiles of a batch index or of all groups.
template <int kBlockM>
__device__ __forceinline__ int tile_rows(const Arguments& arguments) {
  return static_cast<int>(most_tile_rows(kGroupKind, arguments.batch, arguments.m, kBlockM));
}
__device__ __forceinline__ long long tiled_batch(const Arguments& arguments) {
  return kGroupsRows ? 1 : arguments.batch;
}

// The sum of a number over this lane and those before it.
__device__ __forceinline__ int sum_up_to_lane(int number) {
  const int lane = threadIdx.x % 32;
  for (int distance = 1; distance < 32; distance *= 2) {
    const int before = __shfl_up_sync(~0u, number, distance);
    number += lane >= distance ? before : 0;
  }
  return number;
}

// The rows of a group, 32 of which a warp reads at once; none behind the last one.
__device__ __forceinline__ GroupRange rows_for_lane(const Arguments& arguments, int first,
                                                    long long extent) {
  const int group = first + static_cast<int>(threadIdx.x) % 32;
  return group < arguments.batch ? range_of_group(kGroupKind, arguments.groups, group, extent)
                                 : GroupRange{0, 0};
}

struct TileRow {
  long long batch_index;  // -1: of no group
  long long m0, end_m;    // the rows from end_m on are not the batch index's
};

// Whole warps call this.
template <int kBlockM>
__device__ __forceinline__ TileRow tile_row_at(const Arguments& arguments, long long batch_index,
                                               int tile_m) {
  if constexpr (kGroupsRows) {
    for (int first = 0; first < arguments.batch; first += 32) {
      const GroupRange rows = rows_for_lane(arguments, first, arguments.m);
      const int own = tiles_along(rows.end - rows.begin, kBlockM), end = sum_up_to_lane(own);
      const unsigned behind = __ballot_sync(~0u, tile_m < end);
      if (behind != 0) {
        const int lane = __ffs(behind) - 1;
        const long long m0 = rows.begin + static_cast<long long>(tile_m - (end - own)) * kBlockM;
        return {first + lane, __shfl_sync(~0u, m0, lane), __shfl_sync(~0u, rows.end, lane)};
      }
      tile_m -= __shfl_sync(~0u, end, 31);
    }
    return {-1, 0, 0};
  } else {
    return {batch_index, static_cast<long long>(tile_m) * kBlockM, arguments.m};
  }
}
