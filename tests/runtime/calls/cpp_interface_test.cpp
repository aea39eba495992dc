// tunedgemm.hpp, on the host.

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "tests/support/catch.h"
#include "tunedgemm/tunedgemm.hpp"

namespace {

std::string public_header(const std::string& name) {
  std::ifstream file(TUNEDGEMM_SOURCE_FOLDER "/runtime/include/tunedgemm/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// "OTHER_M" and "kOtherM" have the same letters.
std::string letters(std::string name) {
  std::erase(name, '_');
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return name;
}

}  // namespace

TEST_CASE("The C++ header has each enumerator of the C header, under the same name") {
  const std::string c = public_header("tunedgemm.h"), cpp = public_header("tunedgemm.hpp");
  const std::regex enumerator("  (TUNEDGEMM_[A-Z0-9]+_([A-Z0-9_]+)) = -?[0-9]");
  int count = 0;
  for (std::sregex_iterator found(c.begin(), c.end(), enumerator), end; found != end; ++found) {
    const std::string value = (*found)[1], name = (*found)[2];
    if (value.starts_with("TUNEDGEMM_LOG_")) {
      continue;  // tunedgemm_set_log() has no counterpart in C++
    }
    ++count;
    INFO(value);
    std::smatch counterpart;
    REQUIRE(std::regex_search(cpp, counterpart, std::regex("  k(\\w+) = " + value + ",")));
    CHECK(letters(counterpart[1]) == letters(name));
  }
  CHECK(count >= 50);
}
