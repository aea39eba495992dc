// What a persistent block computes, one work after the other: a work is a part of K of one tile of
// D. Blocks of a cluster compute neighbouring tiles at the same time. Expects the knobs as
// constants.
#pragma once

#include "../common/problem.cuh"
#include "../common/rasterization.cuh"
#include "../ptx/warpgroup.cuh"
#include "operand_tiles.cuh"

// Where a block sits in its cluster, cluster_m rows of blocks and cluster_n columns.
struct Seat {
  int rank, m, n;
};
__device__ __forceinline__ Seat seat_in_cluster() {
  const int rank = kCluster == 1 ? 0 : rank_in_cluster();
  return {rank, rank % kClusterM, rank / kClusterM};
}
// The bits of the blocks of its row, which share A, and of its column, which share B.
__device__ __forceinline__ unsigned short row_mates(const Seat& seat) {
  unsigned bits = 0;
  for (int n = 0; n < kClusterN; ++n) {
    bits |= 1u << (seat.m + n * kClusterM);
  }
  return static_cast<unsigned short>(bits);
}
__device__ __forceinline__ unsigned short column_mates(const Seat& seat) {
  return static_cast<unsigned short>(((1u << kClusterM) - 1) << (seat.n * kClusterM));
}

// What a block computes next: a part of K of one tile of D. Tiles do not reach beyond D where it
// can be avoided (tile_order.cuh): tensor copies of boxes that reach beyond a matrix are slow (1408
// x 1400 x 5632, f16, nn, H200, 2026-11-21: 46.6 us, against 33.8 for 1408 columns).
struct Work {
  int entry;
  int part;
  long long unit;  // counts the tiles of the whole batch
  int m0, n0;
  int first_k, tiles_of_k;
};
struct WorkList {
  Seat seat;
  int first, apart;            // the works of this cluster, its share: first, first + apart, ...
  int clusters_m, clusters_n;  // clusters of tiles
  int last_m0, last_n0;        // where a tile that ends with D begins
  int tiles_of_k;
  int count;  // of all works, over the batch and the parts of K
};
constexpr int kNoLimit = 0x7fffffff;
__device__ __forceinline__ int tiles_along(long long extent, int block) {
  return static_cast<int>((extent + block - 1) / block);
}
// Tiles begin at multiples of so many elements that what is stored together stays aligned, and what
// is loaded: copies of 8-bit elements from anywhere else along a line than a multiple of 16 bytes
// end with "illegal instruction" (H200, driver 580, 2026-11-21).
constexpr int kOriginUnitM = kTurnsA ? 16 : 8, kOriginUnitN = kBytesFollowN ? 16 : 8;
__device__ __forceinline__ WorkList list_work(const Arguments& arguments) {
  WorkList list;
  list.seat = seat_in_cluster();
  list.first = blockIdx.x / kCluster;
  list.apart = gridDim.x / kCluster;
  list.clusters_m = tiles_along(arguments.m, kBlockM * kClusterM);
  list.clusters_n = tiles_along(arguments.n, kBlockN * kClusterN);
  const bool is_in_place = kReadC && arguments.c == arguments.d;
  list.last_m0 =
      is_in_place ? kNoLimit : static_cast<int>(last_origin(arguments.m, kBlockM, kOriginUnitM));
  list.last_n0 =
      is_in_place ? kNoLimit : static_cast<int>(last_origin(arguments.n, kBlockN, kOriginUnitN));
  list.tiles_of_k = tiles_along(arguments.k, kBlockK);
  list.count = list.clusters_m * list.clusters_n * kSplitK * static_cast<int>(arguments.batch);
  return list;
}
// Along K.
__device__ __forceinline__ int first_tile_of_part(const WorkList& list, int part) {
  return static_cast<int>(static_cast<long long>(list.tiles_of_k) * part / kSplitK);
}
__device__ __forceinline__ Work work_at(const WorkList& list, int index) {
  const int clusters = list.clusters_m * list.clusters_n;
  const int place = index % clusters, rest = index / clusters;
  TileCoordinate at;
  if (kRasterAlongN) {
    const TileCoordinate turned = tile_at(place, list.clusters_n, list.clusters_m, kGroupM);
    at = {turned.tile_n, turned.tile_m};
  } else {
    at = tile_at(place, list.clusters_m, list.clusters_n, kGroupM);
  }
  Work work;
  work.part = rest % kSplitK;
  work.entry = rest / kSplitK;
  work.unit = (static_cast<long long>(work.entry) * clusters + place) * kCluster + list.seat.rank;
  work.m0 = min((at.tile_m * kClusterM + list.seat.m) * kBlockM, list.last_m0);
  work.n0 = min((at.tile_n * kClusterN + list.seat.n) * kBlockN, list.last_n0);
  work.first_k = first_tile_of_part(list, work.part);
  work.tiles_of_k = first_tile_of_part(list, work.part + 1) - work.first_k;
  return work;
}
