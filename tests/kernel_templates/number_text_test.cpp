#include "kernel_templates/base/number_text.h"

#include <clocale>
#include <limits>
#include <string>

#include "tests/support/catch.h"

namespace tunedgemm::internal {
namespace {

TEST_CASE("Numbers in texts have a point, also where the program's locale has a comma") {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* locale : {"de_DE.UTF-8", "fr_FR.UTF-8", "C"}) {  // where they are installed
    std::setlocale(LC_ALL, locale);
    CHECK(fixed(365.6, 2) == "365.60");
    CHECK(fixed(-0.125, 1) == "-0.1");
    CHECK(fixed(1e300, 0).size() == 301);
    CHECK(four_digits(365.6) == "365.6");
    CHECK(four_digits(0.01234567) == "0.01235");
    CHECK(four_digits(1234567) == "1.235e+06");
    CHECK(four_digits(-std::numeric_limits<double>::max()) == "-1.798e+308");
    CHECK(four_digits(std::numeric_limits<double>::infinity()) == "inf");
  }
  std::setlocale(LC_ALL, before.c_str());
}

}  // namespace
}  // namespace tunedgemm::internal
