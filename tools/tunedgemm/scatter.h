#pragma once

// A scatter plot as SVG for a page of HTML, which gives its classes and elements their colours.

#include <string>
#include <vector>

namespace tunedgemm::internal {

struct ScatterPlot {
  std::string title, x_title, y_title;
  struct Dot {
    double x = 0, y = 0;
    std::string text = {};  ///< shown when the mouse is over the dot
  };
  std::vector<Dot> dots = {};
};

/// The plot; both axes are logarithmic if their values differ fivefold. Dots that are not above 0
/// or not finite are left out; "" if none is left.
std::string scatter_svg(const ScatterPlot& plot);

}  // namespace tunedgemm::internal
