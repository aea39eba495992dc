#include "kernel_templates/cuda/tile_order.h"

#include <set>
#include <utility>

#include "kernel_templates/base/division.h"

namespace tunedgemm::internal {
std::vector<TileCoordinate> grouped_order(const Rasterization& rasterization) {
  const auto clusters_m =
      static_cast<int>(ceil_divide(rasterization.tiles_m, rasterization.cluster_m));
  const auto clusters_n =
      static_cast<int>(ceil_divide(rasterization.tiles_n, rasterization.cluster_n));
  std::vector<TileCoordinate> order;
  for (int index = 0; index < clusters_m * clusters_n; ++index) {
    TileCoordinate cluster = rasterization.along_n
                                 ? tile_at(index, clusters_n, clusters_m, rasterization.group)
                                 : tile_at(index, clusters_m, clusters_n, rasterization.group);
    if (rasterization.along_n) {
      std::swap(cluster.tile_m, cluster.tile_n);
    }
    for (int n = 0; n < rasterization.cluster_n; ++n) {
      for (int m = 0; m < rasterization.cluster_m; ++m) {
        const TileCoordinate tile{cluster.tile_m * rasterization.cluster_m + m,
                                  cluster.tile_n * rasterization.cluster_n + n};
        if (tile.tile_m < rasterization.tiles_m && tile.tile_n < rasterization.tiles_n) {
          order.push_back(tile);
        }
      }
    }
  }
  return order;
}

std::vector<TileCoordinate> row_major_order(int tiles_m, int tiles_n) {
  std::vector<TileCoordinate> order;
  order.reserve(static_cast<std::size_t>(tiles_m) * static_cast<std::size_t>(tiles_n));
  for (int index = 0; index < tiles_m * tiles_n; ++index) {
    order.push_back({index / tiles_n, index % tiles_n});
  }
  return order;
}

std::vector<Wave> waves(const std::vector<TileCoordinate>& order, std::int64_t at_a_time) {
  std::vector<Wave> result;
  std::set<std::int64_t> rows;
  std::set<std::int64_t> columns;
  std::int64_t tiles = 0;
  for (std::size_t index = 0; index < order.size(); ++index) {
    rows.insert(order[index].tile_m);
    columns.insert(order[index].tile_n);
    ++tiles;
    if (tiles == at_a_time || index + 1 == order.size()) {
      result.push_back({tiles, static_cast<std::int64_t>(rows.size()),
                        static_cast<std::int64_t>(columns.size())});
      rows.clear();
      columns.clear();
      tiles = 0;
    }
  }
  return result;
}

}  // namespace tunedgemm::internal
