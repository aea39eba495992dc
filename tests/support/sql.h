#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/catch.h"

namespace tunedgemm::internal {

/// The number that the query returns in the sqlite3 command, which waits while others write.
inline std::int64_t sql_number(const std::filesystem::path& cache, const std::string& query) {
  const std::string command =
      "sqlite3 -cmd '.timeout 10000' '" + cache.string() + "' '" + query + "'";
  std::FILE* const pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 64> text{};
  const bool has_line = std::fgets(text.data(), static_cast<int>(text.size()), pipe) != nullptr;
  const int status = pclose(pipe);
  REQUIRE((has_line && status == 0));
  return std::atoll(text.data());
}

}  // namespace tunedgemm::internal
