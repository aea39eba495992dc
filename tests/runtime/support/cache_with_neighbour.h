#pragma once

#include <filesystem>
#include <string>

#include "tests/runtime/support/c_program.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal {

/// A cache with the winner of one problem, whose kernel computes similar problems, too.
class CacheWithNeighbour {
 public:
  template <class Product>
  explicit CacheWithNeighbour(const Product& neighbour) {
    CProgram program(c_options(TUNEDGEMM_POLICY_TUNE), original());
    REQUIRE(program.why_not(neighbour, false) == "");
  }

  /// Makes a new copy, so that no run sees the results of another.
  std::string copy() const {
    const std::string path = folder_.path() / "copy.db";
    for (const char* suffix : {"", "-wal", "-shm", ".lock"}) {
      std::filesystem::remove(path + suffix);
    }
    std::filesystem::copy_file(original(), path);
    return path;
  }

 private:
  std::string original() const { return folder_.path() / "original.db"; }

  TemporaryFolder folder_;
};

}  // namespace tunedgemm::internal
