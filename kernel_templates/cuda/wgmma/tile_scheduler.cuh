// Tile scheduler: determines the tile of D and the slice of K that a CTA computes next. The CTAs
// are persistent. Each computes one work tile after another. The CTAs of a cluster compute
// neighbouring tiles at the same time.
#pragma once

#include "../common/group_tiles.cuh"
#include "../common/problem.cuh"
#include "../common/rasterization.cuh"
#include "../ptx/warpgroup.cuh"
#include "shape.h"

using namespace tunedgemm::internal;

// The coordinates of a CTA in its cluster of cluster_m x cluster_n CTAs.
struct ClusterCoordinate {
  int rank, m, n;
};
template <wgmma::Shape kShape>
__device__ __forceinline__ ClusterCoordinate cluster_coordinate() {
  const int rank = kShape.cluster_size() == 1 ? 0 : cta_rank_in_cluster();
  return {rank, rank % kShape.cluster_m, rank / kShape.cluster_m};
}
// The CTAs in a row of the cluster share A. The CTAs in a column share B.
template <wgmma::Shape kShape>
__device__ __forceinline__ unsigned short multicast_mask_a(const ClusterCoordinate& cta) {
  unsigned mask = 0;
  for (int n = 0; n < kShape.cluster_n; ++n) {
    mask |= 1u << (cta.m + n * kShape.cluster_m);
  }
  return static_cast<unsigned short>(mask);
}
template <wgmma::Shape kShape>
__device__ __forceinline__ unsigned short multicast_mask_b(const ClusterCoordinate& cta) {
  return static_cast<unsigned short>(((1u << kShape.cluster_m) - 1) << (cta.n * kShape.cluster_m));
}

// A slice of K of one tile of D.
struct WorkTile {
  int batch_index;
  int slice;         // of K
  long long tile;    // its index in the whole batch
  int m0, n0;        // the tile's origin in D
  int first_k_tile;  // of the slice
  int k_tiles;       // of the slice
  int begin_k;       // of the group's depth; 0 unless groups divide K
  int end;           // of the group's rows or depth, if there are groups
};

// The groups of rows in shared memory: those that have rows, in order, and behind them entries with
// the number of all work tiles. With swap_ab the rows are columns of the kernel's D.
struct alignas(16) GroupEntry {
  int first;  // work tile
  int group;
  int begin, end;  // rows
};
static_assert(sizeof(GroupEntry) == wgmma::kGroupEntryBytes);

// The order of tiles (common/rasterization.cuh).
struct Rasterization {
  int group_m;
  bool along_n;  // groups consist of columns of tiles
};

// The last tiles are moved back so that they end with D (common/rasterization.cuh), because TMA
// copies are slow if their boxes reach beyond the matrix.
template <wgmma::Shape kShape, Rasterization kRasterization>
struct TileScheduler {
  static constexpr int kNoLimit = 0x7fffffff;

  ClusterCoordinate cta;
  const Arguments& arguments;
  int first, stride;           // this cluster's work tiles: first, first + stride, ... below count
  int clusters_m, clusters_n;  // clusters of tiles
  int last_m0, last_n0;        // the largest origins
  int k_tiles;                 // of all slices
  int count;                   // of work tiles, over the batch and the slices of K
  const GroupEntry* group;     // of the latest work tile

  __device__ __forceinline__ int first_k_tile_of_slice(int slice) const {
    return static_cast<int>(static_cast<long long>(k_tiles) * slice / kShape.split_k);
  }

  // The coordinate of a cluster, in clusters.
  __device__ __forceinline__ static TileCoordinate coordinate_of(int cluster, int clusters_m,
                                                                 int clusters_n) {
    if constexpr (kRasterization.along_n) {
      const TileCoordinate transposed =
          tile_at(cluster, clusters_n, clusters_m, kRasterization.group_m);
      return {transposed.tile_n, transposed.tile_m};
    } else {
      return tile_at(cluster, clusters_m, clusters_n, kRasterization.group_m);
    }
  }

  // A warp calls this with indices that increase.
  __device__ __forceinline__ WorkTile work_tile(int index) {
    if constexpr (kGroupsRows) {
      return work_tile_of_group(index);
    }
    const int clusters = clusters_m * clusters_n;
    const int cluster = index % clusters, slice_of_batch = index / clusters;
    const TileCoordinate coordinate = coordinate_of(cluster, clusters_m, clusters_n);
    WorkTile work;
    work.slice = slice_of_batch % kShape.split_k;
    work.batch_index = slice_of_batch / kShape.split_k;
    work.tile =
        (static_cast<long long>(work.batch_index) * clusters + cluster) * kShape.cluster_size() +
        cta.rank;
    work.m0 = min((coordinate.tile_m * kShape.cluster_m + cta.m) * kShape.block_m, last_m0);
    work.n0 = min((coordinate.tile_n * kShape.cluster_n + cta.n) * kShape.block_n, last_n0);
    work.first_k_tile = first_k_tile_of_slice(work.slice);
    work.k_tiles = first_k_tile_of_slice(work.slice + 1) - work.first_k_tile;
    work.begin_k = 0;
    if constexpr (kGroupsDepth) {  // an empty group has a k tile of zeros
      const GroupRange depth = depth_of(arguments, work.batch_index);
      work.begin_k = static_cast<int>(depth.begin);
      work.k_tiles = max(tiles_along(depth.end - depth.begin, kShape.block_k), 1);
      work.end = static_cast<int>(depth.end);
    }
    return work;
  }

  // Tiles begin with the group, and the last ones are moved back so that they end with it. A group
  // with fewer rows than a tile has a tile that reaches beyond it, which the stores must not do.
  __device__ __forceinline__ WorkTile work_tile_of_group(int index) {
    while (index >= group[1].first) {
      ++group;
    }
    const GroupEntry entry = *group;
    const int rows = entry.end - entry.begin;
    const bool is_in_place = last_m0 == kNoLimit;
    const int last = is_in_place ? kNoLimit : max(rows - kBlock, 0);
    const int clusters = tiles_along(rows, kBlock * kClusterRows);
    const TileCoordinate coordinate =
        coordinate_of(index - entry.first, kShape.swap_ab ? clusters_m : clusters,
                      kShape.swap_ab ? clusters : clusters_n);
    WorkTile work{.batch_index = entry.group, .k_tiles = k_tiles, .end = entry.end};
    work.m0 = (coordinate.tile_m * kShape.cluster_m + cta.m) * kShape.block_m;
    work.n0 = (coordinate.tile_n * kShape.cluster_n + cta.n) * kShape.block_n;
    work.m0 = kShape.swap_ab ? min(work.m0, last_m0) : entry.begin + min(work.m0, last);
    work.n0 = kShape.swap_ab ? entry.begin + min(work.n0, last) : min(work.n0, last_n0);
    return work;
  }

  // One warp fills the table.
  __device__ __forceinline__ void fill(GroupEntry* table) const {
    const int groups = static_cast<int>(arguments.batch), lane = threadIdx.x % 32;
    int work_tiles = 0, entries = 0;
    for (int first = 0; first < groups; first += 32) {
      const GroupRange rows =
          rows_for_lane(arguments, first, kShape.swap_ab ? arguments.n : arguments.m);
      const int own = tiles_along(rows.end - rows.begin, kBlock * kClusterRows) *
                      (kShape.swap_ab ? clusters_m : clusters_n);
      const int end = work_tiles + sum_up_to_lane(own);
      const unsigned with_rows = __ballot_sync(~0u, own > 0);
      if (own > 0) {
        table[entries + __popc(with_rows & ((1u << lane) - 1))] = {
            end - own, first + lane, static_cast<int>(rows.begin), static_cast<int>(rows.end)};
      }
      work_tiles = __shfl_sync(~0u, end, 31);
      entries += __popc(with_rows);
    }
    for (int entry = entries + lane; entry <= groups; entry += 32) {
      table[entry].first = work_tiles;
    }
  }

 private:
  static constexpr int kBlock = kShape.swap_ab ? kShape.block_n : kShape.block_m;
  static constexpr int kClusterRows = kShape.swap_ab ? kShape.cluster_n : kShape.cluster_m;
};

template <wgmma::Shape kShape, Rasterization kRasterization>
__device__ __forceinline__ TileScheduler<kShape, kRasterization> make_tile_scheduler(
    const Arguments& arguments) {
  constexpr int step_m = kShape.origin_step_m(), step_n = kShape.origin_step_n();
  TileScheduler<kShape, kRasterization> scheduler{.arguments = arguments};
  scheduler.cta = cluster_coordinate<kShape>();
  scheduler.first = blockIdx.x / kShape.cluster_size();
  scheduler.stride = gridDim.x / kShape.cluster_size();
  scheduler.clusters_m = tiles_along(arguments.m, kShape.block_m * kShape.cluster_m);
  scheduler.clusters_n = tiles_along(arguments.n, kShape.block_n * kShape.cluster_n);
  // A tile that is moved back recomputes some elements, and reads C again for them. So D must not
  // overwrite C.
  const bool is_in_place = kReadC && arguments.c == arguments.d;
  scheduler.last_m0 = is_in_place
                          ? scheduler.kNoLimit
                          : static_cast<int>(last_origin(arguments.m, kShape.block_m, step_m));
  scheduler.last_n0 = is_in_place
                          ? scheduler.kNoLimit
                          : static_cast<int>(last_origin(arguments.n, kShape.block_n, step_n));
  scheduler.k_tiles = tiles_along(arguments.k, kShape.block_k);
  scheduler.count = scheduler.clusters_m * scheduler.clusters_n * kShape.split_k *
                    static_cast<int>(arguments.batch);
  return scheduler;
}
