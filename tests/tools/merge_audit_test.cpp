// The search for files from slow devices.

#include "tools/tunedgemm/merge_audit.h"

#include <limits>
#include <string>
#include <vector>

#include "tests/support/catch.h"

using namespace tunedgemm::internal;

namespace {

// Two files share each problem in a ring: problem p is in the files p % files and (p + 1) % files.
// The times differ between problems; those of file f take `factors[f]` times as long.
std::vector<AuditedTime> ring(const std::vector<double>& factors, std::size_t problems) {
  std::vector<AuditedTime> times;
  for (std::size_t problem = 0; problem < problems; ++problem) {
    for (const std::size_t next : {0U, 1U}) {
      const std::size_t file = (problem + next) % factors.size();
      times.push_back({problem, static_cast<std::uint32_t>(file),
                       10.0 * static_cast<double>(1 + problem) * factors[file]});
    }
  }
  return times;
}

}  // namespace

TEST_CASE(
    "A file that takes longer than others for the same problems is slow, its neighbours not") {
  const std::vector<SlowFile> slow = slow_files(ring({1, 1, 1.08, 1, 1, 1}, 36));
  REQUIRE(slow.size() == 1);
  CHECK(slow.front().file == 2);
  CHECK(slow.front().problems == 12);
  CHECK(slow.front().ratio == Approx(1.08));
  CHECK(to_text(slow.front(), "shard-3.db") ==
        "shard-3.db: its 12 problems that other files have too took 1.08 times as long: its device "
        "may be slow; verify its winners (tunedgemm verify) or tune its problems again elsewhere");
}

TEST_CASE("Slow files come slowest first") {
  const std::vector<SlowFile> slow = slow_files(ring({1, 1.1, 1, 1, 1.5, 1, 1}, 70));
  REQUIRE(slow.size() == 2);
  CHECK(slow[0].file == 4);
  CHECK(slow[1].file == 1);
}

TEST_CASE("A file is slow by more than three percent, over three shared problems") {
  CHECK(slow_files(ring({1, 1.029, 1, 1}, 40)).empty());
  CHECK(slow_files(ring({1, 1.031, 1, 1}, 40)).size() == 1);
  CHECK(slow_files(ring({1, 2}, 2)).empty());
  CHECK(slow_files(ring({1, 2}, 3)).size() == 1);
}

TEST_CASE("The ratio is the geometric mean over the mean of the others' times") {
  // Problem 0 is in three files; file 0 takes 4 times the mean of 5 and 15, and 1/4 and 8 times as
  // long as file 1: 8 ^ (1 / 3).
  const std::vector<SlowFile> slow =
      slow_files({{0, 0, 40}, {1, 0, 1}, {2, 0, 16}, {0, 1, 5}, {1, 1, 4}, {2, 1, 2}, {0, 2, 15}});
  REQUIRE(slow.size() == 1);
  CHECK(slow.front().file == 0);
  CHECK(slow.front().ratio == Approx(2));
}

TEST_CASE("Problems of one file alone, and times that are no times, find nothing") {
  CHECK(slow_files({}).empty());
  CHECK(
      slow_files({{0, 0, 10}, {1, 0, 10}, {2, 0, 10}, {3, 1, 90}, {4, 1, 90}, {5, 1, 90}}).empty());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(
      slow_files({{0, 0, 10}, {0, 1, 0}, {1, 0, 10}, {1, 1, nan}, {2, 0, 10}, {2, 1, -1}}).empty());
}
