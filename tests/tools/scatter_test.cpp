// The scatter plots of `tunedgemm report`.

#include "tools/tunedgemm/scatter.h"

#include <algorithm>
#include <limits>
#include <regex>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace tunedgemm::internal {
namespace {

std::vector<double> numbers_in(const std::string& text, const std::string& before) {
  std::vector<double> numbers;
  const std::regex pattern(before + "\"([^\"]+)\"");
  for (std::sregex_iterator found(text.begin(), text.end(), pattern), end; found != end; ++found) {
    numbers.push_back(std::stod((*found)[1]));
  }
  return numbers;
}

TEST_CASE("Every dot is inside the picture's axes, whatever the range") {
  for (const double ratio : {1.0, 1.001, 1.4, 4.9, 5.0, 1e3, 1e9}) {
    for (const double least : {1e-6, 0.3, 1.0, 7.0, 5e7}) {
      CAPTURE(ratio, least);
      const ScatterPlot plot{"title", "x", "y", {{least, 1, "first"}, {least * ratio, 2, "last"}}};
      const std::string svg = scatter_svg(plot);
      const auto x = numbers_in(svg, "cx="), y = numbers_in(svg, "cy=");
      REQUIRE(x.size() == 2);
      CHECK((x[0] >= 60 && x[0] <= x[1] && x[1] <= 545));
      CHECK((ratio == 1) == (x[0] == x[1]));
      CHECK((y[0] <= 275 && y[0] > y[1] && y[1] >= 35));
      const auto ticks = std::count(svg.begin(), svg.end(), 'V');
      CHECK((ticks >= 2 && ticks <= 13));
    }
  }
}

TEST_CASE("The numbers of an axis are written in full") {
  const std::string svg = scatter_svg({"", "x", "y", {{0.1, 7e5}, {0.4, 1.3e6}}});
  for (const char* const number : {">0.1<", ">0.3<", ">800000<", ">1000000<"}) {
    CHECK_THAT(svg, Catch::Matchers::Contains(number));
  }
}

TEST_CASE("Dots without a position are left out, and texts are escaped") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  ScatterPlot plot{"a < b & c", "x", "y", {{0, 1}, {1, -1}, {kNan, 1}, {1, kInfinity}}};
  CHECK(scatter_svg(plot).empty());
  plot.dots.push_back({1, 1, "<script>"});
  const std::string svg = scatter_svg(plot);
  CHECK(numbers_in(svg, "cx=").size() == 1);
  CHECK_THAT(svg, Catch::Matchers::Contains("a &lt; b &amp; c") &&
                      Catch::Matchers::Contains("<title>&lt;script>"));
}

}  // namespace
}  // namespace tunedgemm::internal
