#include "kernel_templates/geometry.h"

#include "kernel_templates/family.h"
#include "tests/support/catch.h"

namespace tunedgemm::internal {

TEST_CASE("There is a counter for each of so many tiles whose sum is split, and for no more") {
  DeviceLimits limits;
  limits.memory_bytes = std::int64_t{1} << 40;
  const Problem problem =
      make_problem(64, 64, 4096, DataType::kF16, DataType::kF16, DataType::kF16);
  const std::int64_t counters = (kWorkspaceCounterBytes - kClaimCounterBytes) / 4;
  Tiling some{.tiles_m = counters, .tiles_n = 1, .batch = 1, .split_k = 2};
  CHECK(why_not_tiling(problem, some, 32, 64, limits).empty());
  ++some.tiles_m;
  CHECK_FALSE(why_not_tiling(problem, some, 32, 64, limits).empty());
}

TEST_CASE("Each block that an SM holds takes a KiB of shared memory for the system") {
  DeviceLimits limits;
  limits.registers_per_sm = 65536;
  limits.max_threads_per_sm = 2048;
  limits.shared_bytes_per_sm = 233472;
  constexpr std::int64_t kHalf = 233472 / 2;
  CHECK(blocks_per_sm(128, 32, kHalf - 1024, limits) == 2);
  CHECK(blocks_per_sm(128, 32, kHalf - 512, limits) == 1);
}

}  // namespace tunedgemm::internal
