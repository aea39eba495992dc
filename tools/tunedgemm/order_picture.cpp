#include "tools/tunedgemm/order_picture.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

namespace tunedgemm::internal {
namespace {

// In pixels.
constexpr double kLongerSide = 360;  // of a grid
constexpr double kLeastPanel = 230;  // room for the words below it
constexpr double kMargin = 24, kTitle = 64, kCaption = 56;

// The first wave stands out, the others alternate.
constexpr std::string_view kFirst = "#1f4e79";
constexpr std::array<std::string_view, 2> kOthers{"#c9d8e8", "#e6edf4"};
constexpr std::string_view kPath = "#d1495b", kInk = "#222222";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

void text_at(std::ostream& out, double left, double top, int size, std::string_view text) {
  out << "<text x=\"" << left << "\" y=\"" << top << "\" font-size=\"" << size << "\" fill=\""
      << kInk << "\">" << escaped(text) << "</text>\n";
}

void draw_tiles(std::ostream& out, const NamedOrder& order, double left, double tile,
                std::int64_t at_a_time) {
  for (std::size_t index = 0; index < order.tiles.size(); ++index) {
    const std::size_t wave = index / static_cast<std::size_t>(at_a_time);
    out << "<rect x=\"" << left + tile * static_cast<double>(order.tiles[index].tile_n) << "\" y=\""
        << kTitle + tile * static_cast<double>(order.tiles[index].tile_m) << "\" width=\"" << tile
        << "\" height=\"" << tile << "\" fill=\""
        << (wave == 0 ? kFirst : kOthers[wave % kOthers.size()])
        << "\" stroke=\"white\" stroke-width=\"" << std::min(1.0, tile / 10) << "\"/>\n";
  }
}

void draw_way(std::ostream& out, const NamedOrder& order, double left, double tile) {
  out << "<polyline fill=\"none\" stroke=\"" << kPath << "\" stroke-width=\""
      << std::clamp(tile / 8, 0.4, 2.0) << "\" points=\"";
  for (const TileCoordinate& place : order.tiles) {
    out << left + tile * (static_cast<double>(place.tile_n) + 0.5) << ','
        << kTitle + tile * (static_cast<double>(place.tile_m) + 0.5) << ' ';
  }
  out << "\"/>\n";
}

}  // namespace

std::string order_picture(const std::string& title, const std::vector<NamedOrder>& orders,
                          std::int64_t tiles_m, std::int64_t tiles_n, std::int64_t at_a_time) {
  const double tile = kLongerSide / static_cast<double>(std::max(tiles_m, tiles_n));
  const double grid_height = tile * static_cast<double>(tiles_m);
  const double panel = std::max(tile * static_cast<double>(tiles_n), kLeastPanel);
  const double width = kMargin + static_cast<double>(orders.size()) * (panel + kMargin);
  std::ostringstream out;
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\""
      << kTitle + grid_height + kCaption << "\" font-family=\"sans-serif\">\n"
      << "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  text_at(out, kMargin, 26, 16, title);
  double left = kMargin;
  for (const NamedOrder& order : orders) {
    const Wave first = waves(order.tiles, at_a_time).front();
    text_at(out, left, kTitle - 10, 13, order.name);
    draw_tiles(out, order, left, tile, at_a_time);
    draw_way(out, order, left, tile);
    text_at(out, left, kTitle + grid_height + 20, 12,
            "first wave (dark): " + std::to_string(first.tiles) + " tiles read");
    text_at(out, left, kTitle + grid_height + 38, 12,
            std::to_string(first.rows) + " rows of A and " + std::to_string(first.columns) +
                " columns of B");
    left += panel + kMargin;
  }
  out << "</svg>\n";
  return out.str();
}

}  // namespace tunedgemm::internal
