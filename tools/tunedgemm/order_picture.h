#pragma once

// Orders of tiles as an SVG picture: the grid of D, a colour for each wave, and the way through it.

#include <cstdint>
#include <string>
#include <vector>

#include "kernel_templates/tile_order.h"

namespace tunedgemm::internal {

struct NamedOrder {
  std::string name;
  std::vector<TileCoordinate> tiles;
};

/// The orders side by side, each with its name and what its first wave reads. At least one order;
/// all are of the same tiles_m x tiles_n tiles.
std::string order_picture(const std::string& title, const std::vector<NamedOrder>& orders,
                          std::int64_t tiles_m, std::int64_t tiles_n, std::int64_t at_a_time);

}  // namespace tunedgemm::internal
