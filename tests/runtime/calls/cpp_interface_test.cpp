// tunedgemm.hpp, on the host.

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <utility>

#include "tests/support/catch.h"
#include "tunedgemm/tunedgemm.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {

std::string public_header(const std::string& name) {
  std::ifstream file(TUNEDGEMM_SOURCE_FOLDER "/runtime/include/tunedgemm/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Compiles nothing.
tunedgemm::Context linked_in_context() {
  return tunedgemm::Context({.backend = tunedgemm::Backend::kHost,
                             .host_threads = 1,
                             .cache_path = "",
                             .policy = tunedgemm::Policy::kStored});
}

// "OTHER_M" and "kOtherM" have the same letters.
std::string letters(std::string name) {
  std::erase(name, '_');
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return name;
}

}  // namespace

TEST_CASE("A call that does not throw returns the failure that the other call throws") {
  const tunedgemm::Context context = linked_in_context();
  const tunedgemm::Problem problem{.m = -4, .n = 5, .k = 6};
  const tunedgemm::Result<> failure = tunedgemm::try_matmul(context, problem, {});
  CHECK_FALSE(failure);
  CHECK(failure.status() == tunedgemm::Status::kInvalidArgument);
  CHECK_THAT(failure.message(), ContainsSubstring("M is -4"));
  CHECK_FALSE(context.try_plan({.m = 4, .n = 5, .k = -6}, {}));
  CHECK_THAT(failure.message(), ContainsSubstring("M is -4"));  // not the later call's
  try {
    tunedgemm::tuned_matmul(context, problem, {});
    FAIL("the call succeeded");
  } catch (const tunedgemm::Error& error) {
    CHECK(error.status() == tunedgemm::Status::kInvalidArgument);
    CHECK(error.what() == "invalid argument: " + failure.message());
  }
}

TEST_CASE("A result has a value or a failure") {
  using tunedgemm::Context, tunedgemm::Result, tunedgemm::Status;
  CHECK(Result<>());
  CHECK(Result<>().status() == Status::kOk);
  CHECK(Result<>(TUNEDGEMM_STATUS_OK).message().empty());
  Result<Context> context = Context::try_create(
      {.backend = tunedgemm::Backend::kHost, .cache_path = "", .policy = tunedgemm::Policy::kFail});
  REQUIRE(context);
  CHECK(context.message().empty());
  CHECK(context->try_plan({.m = 4, .n = 5, .k = 6}, {}).status() == Status::kNotTuned);
  const Context moved = std::move(context).value();
  CHECK(moved.get() != nullptr);
  Result<Context> failure = Context::try_create({.host_threads = -1});
  CHECK_FALSE(failure);
  CHECK_THROWS_WITH(std::move(failure).value(), ContainsSubstring("host_threads"));
  static_assert(noexcept(Context::try_create()));
  static_assert(noexcept(tunedgemm::try_matmul({}, {})));
}

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
