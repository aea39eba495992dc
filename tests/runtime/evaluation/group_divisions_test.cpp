// Divisions of rows and of K into groups at which other kernels failed: any number of rows up to a
// tile and one more, no rows at all, one row, all rows in one group. The rows beside a group must
// stay as they are.

#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/evaluation/operands.h"
#include "runtime/host/host_device.h"
#include "tests/runtime/support/family_check.h"
#include "tests/support/catch.h"
#include "tests/support/device_fixture.h"
#include "tests/support/instances.h"
#include "tests/support/seed.h"

namespace tunedgemm::internal {
namespace {

constexpr int kGroups = 5;

// Sizes of the groups, whose sum is at most `extent`.
std::vector<std::vector<int>> sizes_of_groups(int extent, int tile) {
  std::vector<std::vector<int>> all{{0, 0, 0, 0, 0},      {1, 0, 0, 0, 0},     {0, 0, 0, 0, 1},
                                    {1, 1, 1, 1, 1},      {0, 3, 0, 7, 0},     {5, 0, 2, 0, 9},
                                    {extent, 0, 0, 0, 0}, {0, 0, 0, 0, extent}};
  for (int size = 0; size <= tile + 1; ++size) {
    all.push_back({3, size, 1, 0, 2});
  }
  return all;
}

// The numbers that give groups these sizes; ranges have two rows between them.
std::vector<int> numbers_of(GroupKind kind, const std::vector<int>& sizes, int extent) {
  std::vector<int> numbers;
  int end = 0;
  for (const int size : sizes) {
    if (kind == GroupKind::kCounts) {
      numbers.push_back(size);
      continue;
    }
    if (kind == GroupKind::kRanges) {
      end = std::min(end + 2, extent);
      numbers.push_back(end);
    }
    end = std::min(end + size, extent);
    numbers.push_back(end);
  }
  return numbers;
}

// Some of the family's candidates, each with all divisions.
void test_divisions(const Family& family, Device& device, std::string_view types,
                    std::size_t most_configs) {
  constexpr int kExtent = 160, kTile = 128;
  Random random(test_seed());
  std::vector<FamilyCase> cases;
  for (const char* const kind :
       {"rows layout=nt m=160 n=136 k=72", "ranges layout=nt m=160 n=136 k=72",
        "counts layout=nt m=160 n=136 k=72", "k layout=tn m=72 n=136 k=160"}) {
    const Problem problem = problem_of("types=" + std::string(types) +
                                       " batch=" + std::to_string(kGroups) + " group_kind=" + kind);
    std::vector<Config> configs = configs_of(family, problem, device.limits());
    const bool uses_tensor_cores = family.name() == "mma" || family.name() == "wgmma";
    REQUIRE(configs.empty() ==
            (uses_tensor_cores && has_block_scales(problem) && shares_depth(problem)));
    std::shuffle(configs.begin(), configs.end(), random);
    configs.resize(std::min(configs.size(), most_configs));
    for (const Config& config : configs) {
      for (const std::vector<int>& sizes : sizes_of_groups(kExtent, kTile)) {
        cases.push_back({{problem.a.type, problem.b.type, problem.d.type, problem.numerics},
                         problem,
                         config,
                         numbers_of(problem.group_kind, sizes, kExtent)});
      }
    }
  }
  const FamilyReport report = check_family(family, cases, device, device.limits(), test_seed());
  std::cout << family.name() << ": " << to_text(report) << std::flush;
  CHECK(report.failed == 0);
}

// The numbers of a division for which the problem is checked or tuned.
std::vector<int> numbers_in(const std::string& problem, GroupSizes sizes) {
  const std::vector<int> all = VerifiedProblem(problem_of(problem), test_seed()).group_numbers;
  const auto begin = all.begin() + static_cast<int>(sizes) * std::ssize(all) / kGroupSizes;
  return {begin, begin + std::ssize(all) / kGroupSizes};
}

}  // namespace

TEST_CASE("Problems are tuned for equal groups and for one in four that is four times as large") {
  const std::string rows = "types=f32 n=8 k=8 batch=8 group_kind=rows m=56",
                    counts = "types=f32 n=8 k=8 batch=4 m=28 rows_per_group=8 group_kind=counts",
                    ranges = "types=f32 n=8 k=8 batch=4 m=28 group_kind=ranges",
                    depth = "types=f32 n=8 m=8 batch=4 k=28 group_kind=k";
  CHECK(numbers_in(rows, GroupSizes::kEqual) == std::vector{7, 14, 21, 28, 35, 42, 49, 56});
  CHECK(numbers_in(rows, GroupSizes::kSkewed) == std::vector{16, 20, 24, 28, 44, 48, 52, 56});
  CHECK(numbers_in(counts, GroupSizes::kEqual) == std::vector{8, 8, 8, 8});
  CHECK(numbers_in(counts, GroupSizes::kSkewed) == std::vector{18, 4, 5, 5});
  CHECK(numbers_in(ranges, GroupSizes::kSkewed) == std::vector{0, 16, 16, 20, 20, 24, 24, 28});
  CHECK(numbers_in(depth, GroupSizes::kSkewed) == std::vector{16, 20, 24, 28});
}

TEST_CASE("Host kernels end with their groups, whatever the sizes are", "[host]") {
  HostDevice device(0);
  test_divisions(*find_family("blocked"), device, "f32", 2);
  test_divisions(*find_family("naive_mnk"), device, "bf16", 1);
}

TEST_CASE("GPU kernels end with their groups, whatever the sizes are", "[gpu][groups]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  for (const std::string_view name : {"naive_1d", "simt", "mma", "wgmma"}) {
    for (const char* const types :
         {"bf16", "e4m3->bf16", "f32",
          "e4m3->bf16 numerics=promoted scaling_a=block_128x128 scaling_b=block_1x128"}) {
      const Problem any = problem_of("types=" + std::string(types) +
                                     " layout=nt m=160 n=136 k=72 batch=5 group_kind=rows");
      if (!configs_of(*find_family(name), any, device->limits()).empty()) {
        test_divisions(*find_family(name), *device, types, name == "wgmma" ? 16 : 4);
      }
    }
  }
}

}  // namespace tunedgemm::internal
