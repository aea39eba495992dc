// tunedgemm_context_request, by which a program notes products that it multiplies by other means.

#include <array>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/sql.h"
#include "tests/support/temporary_folder.h"
#include "tunedgemm/tunedgemm.h"

namespace {

using tunedgemm::internal::sql_number;
using tunedgemm::internal::TemporaryFolder;

TEST_CASE("Requests of calls made by other means are in the cache at once") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "cache.db").string();
  tunedgemm_context_options options;
  options.backend = TUNEDGEMM_BACKEND_HOST;
  options.cache_path = path.c_str();
  tunedgemm_context* context = nullptr;
  REQUIRE(tunedgemm_context_create(&options, &context) == TUNEDGEMM_STATUS_OK);
  std::array<tunedgemm_problem, 3> problems;
  std::array<tunedgemm_buffers, 3> buffers;
  const std::array<int64_t, 3> calls{7, 5, 3};
  problems.fill({.m = 16, .n = 24, .k = 32});
  problems[1].m = -1;
  problems[2].k = 64;
  buffers[2].beta = 1;
  const auto request = [&](std::size_t count) {
    return tunedgemm_context_request(context, problems.data(), buffers.data(), calls.data(), count);
  };

  CHECK(request(0) == TUNEDGEMM_STATUS_OK);
  CHECK(request(1) == TUNEDGEMM_STATUS_OK);
  CHECK(sql_number(path, "select calls from missing where k = 32") == 7);
  CHECK(request(3) == TUNEDGEMM_STATUS_INVALID_ARGUMENT);  // the second, which is left out
  CHECK_THAT(tunedgemm_error_message(), Catch::Matchers::ContainsSubstring("-1"));
  CHECK(sql_number(path, "select calls from missing where k = 32") == 14);
  CHECK(sql_number(path, "select calls from missing where k = 64") == 3);
  CHECK(sql_number(path, "select count(*) from missing") == 2);
  CHECK(tunedgemm_context_request(context, problems.data(), buffers.data(), nullptr, 1) ==
        TUNEDGEMM_STATUS_INVALID_ARGUMENT);
  buffers[1].struct_size = 8;
  CHECK(request(2) == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
  tunedgemm_context_destroy(context);
}

}  // namespace
