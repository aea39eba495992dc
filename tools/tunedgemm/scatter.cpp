#include "tools/tunedgemm/scatter.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

constexpr double kWidth = 560, kHeight = 320;
constexpr double kLeft = 60, kRight = kWidth - 15, kTop = 35, kBottom = kHeight - 45;
constexpr double kFewTicks = 4;

// 1, 2 or 5 times a power of ten: the largest that is at most `value`.
double round_below(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  return power * (value >= 5 * power ? 5 : value >= 2 * power ? 2 : 1);
}

class Axis {
 public:
  // The first and the last position are in the picture.
  Axis(double least, double most, double first, double last)
      : is_logarithmic_(most / least >= 5), first_(first), last_(last) {
    const double step = round_below(std::max((most - least) / kFewTicks, least / 50));
    const bool skips = most / least > 1e3;
    double tick = !is_logarithmic_ ? std::floor(least / step) * step
                  : skips          ? std::pow(10, std::floor(std::log10(least)))
                                   : round_below(least);
    for (ticks_ = {tick}; ticks_.size() < 2 || tick < most; ticks_.push_back(tick)) {
      tick = !is_logarithmic_ ? tick + step : skips ? 10 * tick : round_below(2.6 * tick);
    }
  }

  const std::vector<double>& ticks() const { return ticks_; }
  double position(double value) const {
    const auto scaled = [this](double number) {
      return is_logarithmic_ ? std::log(number) : number;
    };
    const double begin = scaled(ticks_.front()), end = scaled(ticks_.back());
    return first_ + (last_ - first_) * (scaled(value) - begin) / (end - begin);
  }

 private:
  bool is_logarithmic_;
  double first_, last_;
  std::vector<double> ticks_;
};

Axis axis_of(const std::vector<ScatterPlot::Dot>& dots, double ScatterPlot::Dot::*value,
             double first, double last) {
  const auto [least, most] = std::ranges::minmax(dots, {}, value);
  return {least.*value, most.*value, first, last};
}

std::string number_text(double number) {
  std::ostringstream text;
  text << std::setprecision(9) << number;  // 1000000, not 1e+06
  return text.str();
}

}  // namespace

std::string scatter_svg(const ScatterPlot& plot) {
  std::vector<ScatterPlot::Dot> dots = plot.dots;
  std::erase_if(dots, [](const auto& dot) {
    return !(dot.x > 0 && dot.y > 0 && std::isfinite(dot.x + dot.y));
  });
  if (dots.empty()) {
    return "";
  }
  const Axis x = axis_of(dots, &ScatterPlot::Dot::x, kLeft, kRight);
  const Axis y = axis_of(dots, &ScatterPlot::Dot::y, kBottom, kTop);
  std::ostringstream svg;
  const auto print_text = [&](double at_x, double at_y, const char* attributes,
                              const std::string& text) {
    svg << "<text x=\"" << at_x << "\" y=\"" << at_y << "\" " << attributes << '>'
        << escaped_html(text) << "</text>\n";
  };
  svg << "<svg role=\"img\" viewBox=\"0 0 " << kWidth << ' ' << kHeight << "\">\n";
  print_text(kLeft, 15, "class=\"title\"", plot.title);
  print_text(kRight, kHeight - 5, "text-anchor=\"end\"", plot.x_title);
  print_text(kLeft, kTop - 6, "", plot.y_title);
  for (const double tick : x.ticks()) {
    svg << "<path d=\"M" << x.position(tick) << ' ' << kTop << 'V' << kBottom << "\"/>\n";
    print_text(x.position(tick), kBottom + 16, "text-anchor=\"middle\"", number_text(tick));
  }
  for (const double tick : y.ticks()) {
    svg << "<path d=\"M" << kLeft << ' ' << y.position(tick) << 'H' << kRight << "\"/>\n";
    print_text(kLeft - 5, y.position(tick) + 4, "text-anchor=\"end\"", number_text(tick));
  }
  for (const auto& dot : dots) {
    svg << "<circle cx=\"" << x.position(dot.x) << "\" cy=\"" << y.position(dot.y)
        << "\" r=\"4\"><title>" << escaped_html(dot.text) << "</title></circle>\n";
  }
  svg << "</svg>\n";
  return svg.str();
}

}  // namespace tunedgemm::internal
