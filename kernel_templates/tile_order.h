#pragma once

// In which order the tiles of D are computed. Blocks of a GPU start in the order of their index, so
// those that run at the same time are neighbours in this order: the fewer rows of A and columns of
// B they span together, the more of their reads are answered by the L2 cache. The kernels' half is
// cuda/words/tile_order.cuh.

#include <cstdint>

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
std::int64_t blocks_loaded(std::int64_t tiles, std::int64_t tiles_m, std::int64_t tiles_n,
                           std::int64_t group_m, std::int64_t depth);

}  // namespace tunedgemm
