// In which order the tiles of D are computed. Blocks that run at the same time should read the same
// rows of A and columns of B, while these are in the L2 cache: group_m rows of tiles walk together,
// column by column. The same formula on the host, with worked examples:
// kernel_templates/tile_order.h.
#pragma once

struct TilePlace {
  int tile_m, tile_n;
};

__device__ __forceinline__ TilePlace tile_at(int index, int tiles_m, int tiles_n, int group_m) {
  const int group =
      min(group_m, tiles_m);  // the same order, and no product passes tiles_m * tiles_n
  const int tiles_in_group = group * tiles_n;
  const int first_m = index / tiles_in_group * group;
  const int rows = min(tiles_m - first_m, group);  // the last group may be shorter
  const int place = index % tiles_in_group;
  return {first_m + place % rows, place / rows};
}

// A tile that would reach beyond D is moved back until it ends with D, or nearly, and computes once
// more, with the same bits, what its neighbour does. That may not be where D is written over C.
// This is where the last tile begins: at a multiple of `unit` elements.
__device__ __forceinline__ long long last_origin(long long extent, int block, int unit) {
  const long long over = extent - block + unit - 1;
  return max(0LL, over / unit * unit);
}
