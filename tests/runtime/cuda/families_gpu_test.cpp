// Compares every CUDA family on the GPU with the reference on the CPU: all element types and
// layouts, each with random epilogues, configs and shapes, in guarded and poisoned memory.
// runtime_tests "[mma]" runs one family.

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <limits>
#include <random>
#include <string_view>

#include "tests/runtime/support/family_check.h"
#include "tests/support/catch.h"
#include "tests/support/device_fixture.h"
#include "tests/support/seed.h"

namespace tunedgemm::internal {
namespace {

constexpr int kShapes = 40;
// How many problem classes to draw for each combination of element types and layout. Each class
// uses the next activation. All kernels share the activation code, so the ladder runs with all
// activations only in the slow test.
constexpr int kAllActivations = static_cast<int>(std::size(kActivations.rows));
constexpr int kSomeActivations = 2;
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

constexpr std::array<std::string_view, 5> kLadder{"naive_1d", "naive_2d", "row_per_block",
                                                  "row_shared", "tiled_shared"};
constexpr std::array<std::string_view, 9> kTested{
    kLadder[0], kLadder[1], kLadder[2], kLadder[3], kLadder[4], "simt", "mma", "skinny", "wgmma"};

void test_family(std::string_view name, int classes, Device& device, const DeviceLimits& limits,
                 int shapes = kShapes, std::size_t most_cases = kNoLimit) {
  const auto start = std::chrono::steady_clock::now();
  const Family* family = find_family(name);
  REQUIRE(family != nullptr);
  Random random(test_seed());
  std::vector<FamilyCase> cases = random_cases(*family, limits, classes, shapes, random);
  if (cases.size() > most_cases) {
    std::shuffle(cases.begin(), cases.end(), random);
    cases.resize(most_cases);
  }
  REQUIRE_FALSE(cases.empty());
  const FamilyReport report = check_family(*family, cases, device, limits, test_seed());
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  std::cout << name << ", " << spent.count() << " s, seed " << test_seed() << ": "
            << to_text(report) << std::flush;
  CHECK(report.failed == 0);
}

}  // namespace

TEST_CASE("the CUDA ladder multiplies every shape", "[gpu][ladder]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  for (const std::string_view name : kLadder) {
    test_family(name, kSomeActivations, *device, device->limits());
  }
}

TEST_CASE("simt multiplies every shape", "[gpu][simt]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  test_family("simt", kAllActivations, *device, device->limits());
}

TEST_CASE("mma multiplies every shape", "[gpu][mma]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  test_family("mma", kAllActivations, *device, device->limits());
}

TEST_CASE("skinny multiplies every shape", "[gpu][skinny]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  test_family("skinny", kAllActivations, *device, device->limits());
}

TEST_CASE("wgmma multiplies every shape", "[gpu][wgmma]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  if (device->limits().arch != 90) {
    TUNEDGEMM_SKIP("wgmma needs a GPU of compute capability 9.0");
  }
  DeviceLimits limits = device->limits();
  test_family("wgmma", kAllActivations, *device, limits);
  limits.sm_count = 3;
  std::mt19937 random(test_seed());
  for (int& gpc : limits.gpc_of_sm) {  // a wrong map must not lose tiles
    gpc = static_cast<int>(random() % 5);
  }
  test_family("wgmma", kAllActivations, *device, limits);
}

// Small enough for compute-sanitizer (tools/test_gpu.sh), which slows launches down a hundredfold.
TEST_CASE("a few kernels of every family multiply", "[gpu][sample]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  constexpr std::size_t kCases = 12;
  for (const std::string_view name : kTested) {
    if (name != "wgmma" || device->limits().arch == 90) {
      test_family(name, 1, *device, device->limits(), 1, kCases);
    }
  }
}

TEST_CASE("the CUDA ladder multiplies every shape with every activation", "[gpu][slow]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  for (const std::string_view name : kLadder) {
    test_family(name, kAllActivations, *device, device->limits());
  }
}

TEST_CASE("every CUDA family has a test on the GPU") {
  for (const Family* family : families("cuda")) {
    INFO(family->name());
    CHECK(std::find(kTested.begin(), kTested.end(), family->name()) != kTested.end());
  }
}

}  // namespace tunedgemm::internal
