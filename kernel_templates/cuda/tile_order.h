#pragma once

// The order in which the tiles of D are computed. CTAs start in the order of their index, so CTAs
// that run at the same time are neighbours in this order. If they need few rows of A and columns of
// B together, more of their loads hit in L2. The position of a single tile comes from tile_at() in
// cuda/common/rasterization.cuh, which the kernels use as well.

#include <cstdint>
#include <vector>

#include "kernel_templates/cuda/common/rasterization.cuh"

namespace tunedgemm::internal {

inline bool operator==(const TileCoordinate& left, const TileCoordinate& right) {
  return left.tile_m == right.tile_m && left.tile_n == right.tile_n;
}

/// The rasterization of a config. With clusters, which compute adjacent tiles at the same time, the
/// order is that of the clusters.
struct Rasterization {
  int tiles_m = 1, tiles_n = 1;
  int group = 1;         ///< rows of tiles in a group, or columns if along_n
  bool along_n = false;  ///< groups consist of columns of tiles, not of rows
  int cluster_m = 1, cluster_n = 1;
};

/// All tiles of D in the order in which they start. A cluster's tiles outside D are left out.
std::vector<TileCoordinate> grouped_order(const Rasterization& rasterization);
/// Row by row.
std::vector<TileCoordinate> row_major_order(int tiles_m, int tiles_n);

/// Tiles computed at the same time, and the rows of tiles of A and columns of tiles of B that they
/// load together.
struct Wave {
  std::int64_t tiles = 0, rows = 0, columns = 0;

  friend bool operator==(const Wave&, const Wave&) = default;
};
/// The order divided into waves of `at_a_time` tiles; the last wave may be shorter. Precondition:
/// at_a_time >= 1.
std::vector<Wave> waves(const std::vector<TileCoordinate>& order, std::int64_t at_a_time);

}  // namespace tunedgemm::internal
