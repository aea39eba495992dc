#pragma once

// In which order the tiles of D are computed. CTAs start in the order of their index, so
// those that run at the same time are neighbours in this order: the fewer rows of A and columns of
// B they span together, the more of their reads are answered by the L2 cache. The kernels' half is
// cuda/common/rasterization.cuh.

#include <cstdint>
#include <vector>

namespace tunedgemm {

struct TileCoordinate {
  std::int64_t tile_m = 0, tile_n = 0;

  friend bool operator==(const TileCoordinate&, const TileCoordinate&) = default;
};

/// Groups of `group_m` rows of tiles (the last one may be shorter) follow each other; inside a
/// group the tiles go down the columns, and the columns go to the right. Precondition: 0 <= index <
/// tiles_m * tiles_n, group_m >= 1.
TileCoordinate tile_at(std::int64_t index, std::int64_t tiles_m, std::int64_t tiles_n,
                       std::int64_t group_m);

/// How many blocks of A and B the first `tiles` tiles load together, if each block is loaded once
/// and an operand is `depth` blocks deep: depth * (rows of tiles touched + columns touched).
/// Precondition: tiles >= 1.
std::int64_t blocks_loaded(std::int64_t tiles, std::int64_t tiles_m, std::int64_t tiles_n,
                           std::int64_t group_m, std::int64_t depth);

/// The rasterization of a config: in which order the tiles of D are begun. Tiles beside and below
/// each other may be computed by the CTAs of a cluster at the same time; then clusters are ordered.
struct Rasterization {
  std::int64_t tiles_m = 1, tiles_n = 1;
  std::int64_t group = 1;  ///< rows of tiles in a group, or columns if along_n
  bool along_n = false;    ///< groups go along N, not along M
  std::int64_t cluster_m = 1, cluster_n = 1;
};

/// Every tile in the order in which it is begun. What a cluster has beyond D is left out.
std::vector<TileCoordinate> grouped_order(const Rasterization& rasterization);
/// Row after row.
std::vector<TileCoordinate> row_major_order(std::int64_t tiles_m, std::int64_t tiles_n);
/// Along Hilbert's curve over the smallest square of a power of two (D. Hilbert, "Über die stetige
/// Abbildung einer Linie auf ein Flächenstück", 1891), leaving out what lies beyond D.
std::vector<TileCoordinate> hilbert_order(std::int64_t tiles_m, std::int64_t tiles_n);

/// Tiles that are computed at the same time, and the rows of blocks of A and columns of blocks of B
/// that they read together.
struct Wave {
  std::int64_t tiles = 0, rows = 0, columns = 0;

  friend bool operator==(const Wave&, const Wave&) = default;
};
/// The order cut into waves of `at_a_time` tiles; the last one may be shorter. Precondition:
/// at_a_time >= 1.
std::vector<Wave> waves(const std::vector<TileCoordinate>& order, std::int64_t at_a_time);

}  // namespace tunedgemm
