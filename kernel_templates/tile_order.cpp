#include "kernel_templates/tile_order.h"

#include <algorithm>
#include <set>

namespace tunedgemm {

TilePlace tile_at(std::int64_t index, std::int64_t tiles_m, std::int64_t tiles_n,
                  std::int64_t group_m) {
  const std::int64_t group = std::min(group_m, tiles_m);
  const std::int64_t tiles_in_group = group * tiles_n;
  const std::int64_t first_m = index / tiles_in_group * group;
  const std::int64_t rows = std::min(tiles_m - first_m, group);
  const std::int64_t place = index % tiles_in_group;
  return {first_m + place % rows, place / rows};
}

std::int64_t blocks_loaded(std::int64_t tiles, std::int64_t tiles_m, std::int64_t tiles_n,
                           std::int64_t group_m, std::int64_t depth) {
  std::set<std::int64_t> rows;
  std::set<std::int64_t> columns;
  for (std::int64_t index = 0; index < tiles; ++index) {
    const TilePlace place = tile_at(index, tiles_m, tiles_n, group_m);
    rows.insert(place.tile_m);
    columns.insert(place.tile_n);
  }
  return depth * static_cast<std::int64_t>(rows.size() + columns.size());
}

}  // namespace tunedgemm
