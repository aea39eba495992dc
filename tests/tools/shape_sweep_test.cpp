#include "tools/shared/shape_options.h"

#include "tests/support/catch.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("The squares are 31 f16 shapes from 256 to 4096") {
  const auto shapes = square_shapes({}, kSquares);
  REQUIRE(shapes.size() == 31);
  for (std::size_t index = 0; index < shapes.size(); ++index) {
    const Problem& problem = shapes[index].problem;
    CAPTURE(index);
    REQUIRE(problem.m == 128 * (static_cast<std::int64_t>(index) + 2));
    REQUIRE(problem.n == problem.m);
    REQUIRE(problem.k == problem.m);
    REQUIRE(types_text(problem) == "f16→f16");
    REQUIRE(layout_text(problem) == "nn");
  }
}

TEST_CASE("The other fields of a sweep are as chosen") {
  const ShapeChoice choice{{{"types", "e4m3", {}}, {"layout", "nt", {}}, {"beta", "other", {}}}};
  const auto shapes = square_shapes(choice, "1536,2176");
  REQUIRE(shapes.size() == 2);
  REQUIRE(shapes[1].problem.m == 2176);
  REQUIRE(types_text(shapes[1].problem) == "e4m3→f16 fast");
  REQUIRE(layout_text(shapes[1].problem) == "nt");
  REQUIRE(shapes[1].problem.beta == ScalarClass::kOther);
}

TEST_CASE("A sweep that cannot be understood is refused") {
  REQUIRE_THROWS_WITH(square_shapes({}, "0"), ContainsSubstring("at least 1"));
  REQUIRE_THROWS_WITH(square_shapes({}, "256:4096"), ContainsSubstring("such as 128:4096:128"));
  REQUIRE_THROWS_WITH(square_shapes({{{"types", "f17", {}}}}, "8"), ContainsSubstring("f17"));
}

}  // namespace
}  // namespace tunedgemm::internal
