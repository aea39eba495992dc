#pragma once

// In which order the tiles of D are computed. CTAs start in the order of their index, so those that
// run at the same time are neighbours in this order: the fewer rows of A and columns of B they span
// together, the more of their reads are answered by the L2 cache. Where a single tile lies says
// tile_at() of cuda/common/rasterization.cuh, which the kernels ask as well.

#include <cstdint>
#include <vector>

#include "kernel_templates/cuda/common/rasterization.cuh"

namespace tunedgemm::internal {

inline bool operator==(const TileCoordinate& left, const TileCoordinate& right) {
  return left.tile_m == right.tile_m && left.tile_n == right.tile_n;
}

/// The rasterization of a config: in which order the tiles of D are begun. Tiles beside and below
/// each other may be computed by the CTAs of a cluster at the same time; then clusters are ordered.
struct Rasterization {
  int tiles_m = 1, tiles_n = 1;
  int group = 1;         ///< rows of tiles in a group, or columns if along_n
  bool along_n = false;  ///< groups go along N, not along M
  int cluster_m = 1, cluster_n = 1;
};

/// Every tile in the order in which it is begun. What a cluster has beyond D is left out.
std::vector<TileCoordinate> grouped_order(const Rasterization& rasterization);
/// Row after row.
std::vector<TileCoordinate> row_major_order(int tiles_m, int tiles_n);

/// Tiles that are computed at the same time, and the rows of blocks of A and columns of blocks of B
/// that they read together.
struct Wave {
  std::int64_t tiles = 0, rows = 0, columns = 0;

  friend bool operator==(const Wave&, const Wave&) = default;
};
/// The order cut into waves of `at_a_time` tiles; the last one may be shorter. Precondition:
/// at_a_time >= 1.
std::vector<Wave> waves(const std::vector<TileCoordinate>& order, std::int64_t at_a_time);

}  // namespace tunedgemm::internal
