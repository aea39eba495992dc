// Rasterization: in which order the tiles of D are computed. CTAs that run at the same time should
// read the same rows of A and columns of B while these are in the L2 cache. So tiles go in groups
// of `group_m` rows of tiles, column by column inside a group:
//
//      group_m = 2      0 2 4 6
//                       1 3 5 7
//                       8 ...
//
// The same formula on the host, with worked examples: kernel_templates/tile_order.h.
#pragma once

struct TileCoordinate {
  int tile_m, tile_n;
};

__device__ __forceinline__ TileCoordinate tile_at(int index, int tiles_m, int tiles_n,
                                                  int group_m) {
  // Not more than there are: the same order, and no product exceeds tiles_m * tiles_n.
  const int group = min(group_m, tiles_m);
  const int tiles_in_group = group * tiles_n;
  const int first_m = index / tiles_in_group * group;
  const int rows = min(tiles_m - first_m, group);  // the last group may be shorter
  const int in_group = index % tiles_in_group;
  return {first_m + in_group % rows, in_group / rows};
}

// A tile that would reach beyond D is moved back until it ends with D, or nearly, and computes once
// more, with the same bits, what its neighbour does. That may not be where D is written over C.
// This is where the last tile begins: at a multiple of `unit` elements.
__device__ __forceinline__ long long last_origin(long long extent, int block, int unit) {
  const long long over = extent - block + unit - 1;
  return max(0LL, over / unit * unit);
}
