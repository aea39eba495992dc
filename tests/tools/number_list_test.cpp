#include "tools/shared/number_list.h"

#include "tests/support/catch.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;
using Numbers = std::vector<std::int64_t>;

TEST_CASE("Number lists are single numbers, ranges, and both joined by commas") {
  REQUIRE(parse_number_list("512", 1) == Numbers{512});
  REQUIRE(parse_number_list("512,1024", 1) == Numbers{512, 1024});
  REQUIRE(parse_number_list("128:512:128", 1) == Numbers{128, 256, 384, 512});
  REQUIRE(parse_number_list("1,10:25:10,7", 1) == Numbers{1, 10, 20, 7});
  REQUIRE(parse_number_list("5:5:1", 1) == Numbers{5});
  REQUIRE(parse_number_list("1:2:9223372036854775807", 1) == Numbers{1});
}

TEST_CASE("A wrong number list names the part that is wrong") {
  const auto fails_with = [](const char* text, const char* sentence) {
    REQUIRE_THROWS_WITH(parse_number_list(text, 1), ContainsSubstring(sentence));
  };
  fails_with("", "\"\" in \"\" is not a whole number");
  fails_with("12x", "\"12x\"");
  fails_with("0", "at least 1");
  fails_with("1,,2", "is not a whole number");
  fails_with("1:2", "\"1:2\" is not first:last:step");
  fails_with("9:1:1", "ends before it begins");
  fails_with("1:9:0", "\"0\" in \"1:9:0\"");
  fails_with("1:9223372036854775807:1", "more than a million");
  fails_with("1:600000:1,1:600000:1", "\"1:600000:1\" in \"1:600000:1,1:600000:1\" makes more");
}

TEST_CASE("Numbers of options are finite") {
  for (const char* text : {"2.5", "0", "-3", "1e9"}) {
    CHECK(why_not_finite(text).empty());
  }
  for (const char* text : {"nan", "-nan", "NaN(1)", "inf", "-inf", "1e999", "", "2.5x", "x"}) {
    CHECK_THAT(why_not_finite(text), ContainsSubstring("is not a number such as 2.5"));
  }
}

}  // namespace
}  // namespace tunedgemm::internal
