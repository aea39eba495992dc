// Rasterization: in which order the tiles of D are computed. CTAs that run at the same time should
// read the same rows of A and columns of B while these are in the L2 cache. So tiles go in groups
// of `group_m` rows of tiles, column by column inside a group:
//
//      group_m = 2      0 2 4 6
//                       1 3 5 7
//                       8 ...
//
// The host (tile_order.h) includes this very file, so it is plain constexpr C++.
#pragma once

#include "host_device.cuh"

namespace tunedgemm::internal {

struct TileCoordinate {
  int tile_m, tile_n;
};

// 0 <= index < tiles_m * tiles_n, group_m >= 1.
TUNEDGEMM_CONSTEXPR TileCoordinate tile_at(int index, int tiles_m, int tiles_n, int group_m) {
  // Not more than there are: the same order, and no product exceeds tiles_m * tiles_n.
  const int group = group_m < tiles_m ? group_m : tiles_m;
  const int tiles_in_group = group * tiles_n;
  const int first_m = index / tiles_in_group * group;
  const int rows_left = tiles_m - first_m;
  const int rows = rows_left < group ? rows_left : group;  // the last group may be shorter
  const int in_group = index % tiles_in_group;
  return {first_m + in_group % rows, in_group / rows};
}

// A tile that would reach beyond D is moved back until it ends with D, or nearly, and computes once
// more, with the same bits, what its neighbour does. That may not be where D is written over C.
// This is where the last tile begins: at a multiple of `unit` elements.
TUNEDGEMM_CONSTEXPR long long last_origin(long long extent, int block, int unit) {
  const long long origin = (extent - block + unit - 1) / unit * unit;
  return origin > 0 ? origin : 0;
}

}  // namespace tunedgemm::internal
