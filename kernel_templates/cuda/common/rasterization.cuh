// Rasterization: the order in which the tiles of D are computed. CTAs that run at the same time
// should read the same rows of A and columns of B while the L2 cache holds them. So the tiles are
// divided into groups of `group_m` rows of tiles, and a group is computed column by column:
//
//      group_m = 2      0 2 4 6
//                       1 3 5 7
//                       8 ...
//
// The host (tile_order.h) includes this file, so it is plain constexpr C++.
#pragma once

#include "host_device.cuh"

namespace tunedgemm::internal {

struct TileCoordinate {
  int tile_m, tile_n;
};

// Precondition: 0 <= index < tiles_m * tiles_n, and group_m >= 1.
TUNEDGEMM_CONSTEXPR TileCoordinate tile_at(int index, int tiles_m, int tiles_n, int group_m) {
  // The group is limited to tiles_m, so that no product exceeds tiles_m * tiles_n. This does not
  // change the order.
  const int group = group_m < tiles_m ? group_m : tiles_m;
  const int tiles_in_group = group * tiles_n;
  const int first_m = index / tiles_in_group * group;
  const int rows_left = tiles_m - first_m;
  const int rows = rows_left < group ? rows_left : group;  // the last group may be shorter
  const int in_group = index % tiles_in_group;
  return {first_m + in_group % rows, in_group / rows};
}

// The origin of the last tile, a multiple of `unit` elements. A tile that would reach beyond D is
// moved back, but not before 0, until it ends with D or less than `unit` elements after D. The tile
// then recomputes elements of its neighbour and gets the same bits. A tile must not be moved if D
// overwrites C.
TUNEDGEMM_CONSTEXPR long long last_origin(long long extent, int block, int unit) {
  const long long origin = (extent - block + unit - 1) / unit * unit;
  return origin > 0 ? origin : 0;
}

}  // namespace tunedgemm::internal
