// What a persistent block computes, one work after the other: a work is a part of K of one tile of
// D. Blocks of a cluster compute neighbouring tiles at the same time, also where one of them lies
// outside D. Expects the knobs as constants.
#pragma once

#include "problem.cuh"
#include "tile_order.cuh"
#include "warpgroup.cuh"

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

// What a block computes next: a part of K of one tile of D.
struct Work {
  int entry;
  int part;
  long long unit;  // counts the tiles of the whole batch
  int m0, n0;
  int first_k, tiles_of_k;
};
struct WorkList {
  Seat seat;
  int first, apart;            // the works of this cluster: first, first + apart, ...
  int clusters_m, clusters_n;  // clusters of tiles
  int tiles_of_k;
  int count;  // of all works, over the batch and the parts of K
};
__device__ __forceinline__ int tiles_along(long long extent, int block) {
  return static_cast<int>((extent + block - 1) / block);
}
__device__ __forceinline__ WorkList list_work(const Arguments& arguments) {
  WorkList list;
  list.seat = seat_in_cluster();
  list.first = blockIdx.x / kCluster;
  list.apart = gridDim.x / kCluster;
  list.clusters_m = tiles_along(arguments.m, kBlockM * kClusterM);
  list.clusters_n = tiles_along(arguments.n, kBlockN * kClusterN);
  list.tiles_of_k = tiles_along(arguments.k, kBlockK);
  list.count = list.clusters_m * list.clusters_n * kSplitK * static_cast<int>(arguments.batch);
  return list;
}
__device__ __forceinline__ Work work_at(const WorkList& list, int index) {
  const int clusters = list.clusters_m * list.clusters_n;
  const int place = index % clusters, rest = index / clusters;
  TilePlace at;
  if (kColumnsWalkTogether) {
    const TilePlace turned = tile_at(place, list.clusters_n, list.clusters_m, kGroup);
    at = {turned.tile_n, turned.tile_m};
  } else {
    at = tile_at(place, list.clusters_m, list.clusters_n, kGroup);
  }
  Work work;
  work.part = rest % kSplitK;
  work.entry = rest / kSplitK;
  work.unit = (static_cast<long long>(work.entry) * clusters + place) * kCluster + list.seat.rank;
  work.m0 = (at.tile_m * kClusterM + list.seat.m) * kBlockM;
  work.n0 = (at.tile_n * kClusterN + list.seat.n) * kBlockN;
  const long long all = list.tiles_of_k;
  work.first_k = static_cast<int>(all * work.part / kSplitK);
  work.tiles_of_k = static_cast<int>(all * (work.part + 1) / kSplitK) - work.first_k;
  return work;
}
