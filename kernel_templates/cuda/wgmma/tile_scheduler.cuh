// Tile scheduler: determines the tile of D and the slice of K that a CTA computes next. The CTAs
// are persistent. Each computes one work tile after another. The CTAs of a cluster compute
// neighbouring tiles at the same time.
#pragma once

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
};

// The order of tiles (common/rasterization.cuh).
struct Rasterization {
  int group_m;
  bool along_n;  // groups consist of columns of tiles
};

__device__ __forceinline__ int tiles_along(long long extent, int block) {
  return static_cast<int>((extent + block - 1) / block);
}

// The last tiles are moved back so that they end with D (common/rasterization.cuh), because TMA
// copies are slow if their boxes reach beyond the matrix.
template <wgmma::Shape kShape, Rasterization kRasterization>
struct TileScheduler {
  static constexpr int kNoLimit = 0x7fffffff;

  ClusterCoordinate cta;
  int first, stride;           // this cluster's work tiles: first, first + stride, ... below count
  int clusters_m, clusters_n;  // clusters of tiles
  int last_m0, last_n0;        // the largest origins
  int k_tiles;                 // of all slices
  int count;                   // of work tiles, over the batch and the slices of K

  __device__ __forceinline__ int first_k_tile_of_slice(int slice) const {
    return static_cast<int>(static_cast<long long>(k_tiles) * slice / kShape.split_k);
  }

  __device__ __forceinline__ WorkTile work_tile(int index) const {
    const int clusters = clusters_m * clusters_n;
    const int cluster = index % clusters, slice_of_batch = index / clusters;
    TileCoordinate coordinate;  // of the cluster, in clusters
    if constexpr (kRasterization.along_n) {
      const TileCoordinate transposed =
          tile_at(cluster, clusters_n, clusters_m, kRasterization.group_m);
      coordinate = {transposed.tile_n, transposed.tile_m};
    } else {
      coordinate = tile_at(cluster, clusters_m, clusters_n, kRasterization.group_m);
    }
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
    return work;
  }
};

template <wgmma::Shape kShape, Rasterization kRasterization>
__device__ __forceinline__ TileScheduler<kShape, kRasterization> make_tile_scheduler(
    const Arguments& arguments) {
  constexpr int step_m = kShape.origin_step_m(), step_n = kShape.origin_step_n();
  TileScheduler<kShape, kRasterization> scheduler;
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
