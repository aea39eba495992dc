// The tile orders, tested with worked examples from public texts on the subject.

#include "kernel_templates/cuda/tile_order.h"

#include <set>
#include <utility>

#include "tests/support/catch.h"

namespace tunedgemm::internal {
namespace {

// Whether the order has every tile exactly once.
bool covers(const std::vector<TileCoordinate>& order, std::int64_t tiles_m, std::int64_t tiles_n) {
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  for (const TileCoordinate& tile : order) {
    if (tile.tile_m < 0 || tile.tile_m >= tiles_m || tile.tile_n < 0 || tile.tile_n >= tiles_n) {
      return false;
    }
    seen.emplace(tile.tile_m, tile.tile_n);
  }
  return seen.size() == order.size() &&
         static_cast<std::int64_t>(order.size()) == tiles_m * tiles_n;
}

// Kernels call tile_at() at run time; host code may call it at compile time.
static_assert(tile_at(30, 9, 9, 3).tile_m == 3 && tile_at(30, 9, 9, 3).tile_n == 1);

std::int64_t blocks_of(const Wave& wave, std::int64_t depth) {
  return depth * (wave.rows + wave.columns);
}

TEST_CASE("A 574 x 574 result in tiles of 64 is rasterized in groups of 27") {
  const std::vector<TileCoordinate> order = grouped_order({.tiles_m = 9, .tiles_n = 9, .group = 3});
  REQUIRE(order.size() == 81);
  CHECK(order[4] == TileCoordinate{1, 1});
  CHECK(order[26] == TileCoordinate{2, 8});
  CHECK(order[30] == TileCoordinate{3, 1});
}

TEST_CASE("The first nine tiles load 90 blocks row by row, and 54 in groups of three rows") {
  constexpr std::int64_t kDepth = 9;
  CHECK(blocks_of(waves(row_major_order(9, 9), 9)[0], kDepth) == 90);
  CHECK(blocks_of(waves(grouped_order({.tiles_m = 9, .tiles_n = 9, .group = 3}), 9)[0], kDepth) ==
        54);
}

TEST_CASE("Every order has every tile once") {
  for (const auto& [m, n] : {std::pair(1, 1), {1, 7}, {7, 1}, {9, 9}, {5, 12}, {16, 3}, {13, 31}}) {
    INFO(m << " x " << n);
    CHECK(covers(row_major_order(m, n), m, n));
    for (const int group : {1, 2, 8, 100}) {
      for (const bool columns : {false, true}) {
        for (const auto& [of_m, of_n] : {std::pair(1, 1), {2, 1}, {1, 2}, {2, 2}, {4, 1}}) {
          CHECK(covers(grouped_order({m, n, group, columns, of_m, of_n}), m, n));
        }
      }
    }
  }
}

TEST_CASE("Groups along N are groups along M of the transposed grid") {
  const std::vector<TileCoordinate> rows = grouped_order({.tiles_m = 4, .tiles_n = 6, .group = 2});
  const std::vector<TileCoordinate> columns =
      grouped_order({.tiles_m = 6, .tiles_n = 4, .group = 2, .along_n = true});
  REQUIRE(rows.size() == columns.size());
  for (std::size_t index = 0; index < rows.size(); ++index) {
    CHECK(columns[index] == TileCoordinate{rows[index].tile_n, rows[index].tile_m});
  }
}

TEST_CASE("A cluster's tiles follow each other") {
  const std::vector<TileCoordinate> order =
      grouped_order({.tiles_m = 3, .tiles_n = 2, .group = 1, .cluster_m = 2});
  const std::vector<TileCoordinate> expected{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 0}, {2, 1}};
  CHECK(order == expected);
}

TEST_CASE("Waves are cut from the order, and the last one is shorter") {
  const std::vector<Wave> cut = waves(row_major_order(2, 5), 4);
  CHECK(cut == std::vector<Wave>{{4, 1, 4}, {4, 2, 4}, {2, 1, 2}});
}

}  // namespace
}  // namespace tunedgemm::internal
