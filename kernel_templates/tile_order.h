#pragma once

// In which order the tiles of D are computed. Blocks of a GPU start in the order of their index, so
// those that run at the same time are neighbours in this order: the fewer rows of A and columns of
// B they span together, the more of their reads are answered by the L2 cache. The kernels' half is
// cuda/common/rasterization.cuh.

#include <cstdint>
#include <vector>

namespace tunedgemm {

struct TilePlace {
  std::int64_t tile_m = 0, tile_n = 0;

  friend bool operator==(const TilePlace&, const TilePlace&) = default;
};

/// Groups of `group_m` rows of tiles (the last one may be shorter) follow each other; inside a
/// group the tiles go down the columns, and the columns go to the right. Precondition: 0 <= index <
/// tiles_m * tiles_n, group_m >= 1.
TilePlace tile_at(std::int64_t index, std::int64_t tiles_m, std::int64_t tiles_n,
                  std::int64_t group_m);

/// How many blocks of A and B the first `tiles` tiles load together, if each block is loaded once
/// and an operand is `depth` blocks deep: depth * (rows of tiles touched + columns touched).
/// Precondition: tiles >= 1.
std::int64_t blocks_loaded(std::int64_t tiles, std::int64_t tiles_m, std::int64_t tiles_n,
                           std::int64_t group_m, std::int64_t depth);

/// How a config walks over the tiles of D. Tiles beside and below each other may be computed at the
/// same time by the blocks of a cluster; then whole clusters walk.
struct TileWalk {
  std::int64_t tiles_m = 1, tiles_n = 1;
  std::int64_t group = 1;              ///< rows (columns) that walk together
  bool columns_walk_together = false;  ///< columns do instead of rows
  std::int64_t cluster_m = 1, cluster_n = 1;
};

/// Every tile in the order in which it is begun. What a cluster has beyond D is left out.
std::vector<TilePlace> grouped_order(const TileWalk& walk);
/// Row after row.
std::vector<TilePlace> row_major_order(std::int64_t tiles_m, std::int64_t tiles_n);
/// Along Hilbert's curve over the smallest square of a power of two (D. Hilbert, "Über die stetige
/// Abbildung einer Linie auf ein Flächenstück", 1891), leaving out what lies beyond D.
std::vector<TilePlace> hilbert_order(std::int64_t tiles_m, std::int64_t tiles_n);

/// Tiles that are computed at the same time, and the rows of blocks of A and columns of blocks of B
/// that they read together.
struct Wave {
  std::int64_t tiles = 0, rows = 0, columns = 0;

  friend bool operator==(const Wave&, const Wave&) = default;
};
/// The order cut into waves of `at_a_time` tiles; the last one may be shorter. Precondition:
/// at_a_time >= 1.
std::vector<Wave> waves(const std::vector<TilePlace>& order, std::int64_t at_a_time);

}  // namespace tunedgemm
