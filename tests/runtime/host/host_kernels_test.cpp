// Checks every host family on this CPU against the double-precision reference, in guarded and
// poisoned memory. Each binary takes a second to compile. The normal tests that compile therefore
// use one class of problems per element type, with random layouts, epilogues and configs. The slow
// test uses every element type and layout, and all activations in turn.

#include <array>
#include <chrono>
#include <iostream>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>

#include "runtime/host/host_device.h"
#include "tests/runtime/support/family_check.h"
#include "tests/support/catch.h"
#include "tests/support/instances.h"
#include "tests/support/seed.h"

namespace tunedgemm::internal {
namespace {

constexpr int kShapes = 40;
constexpr int kClasses = static_cast<int>(std::size(kActivations.rows));
constexpr std::array<std::string_view, 4> kLayouts{"nn", "nt", "tn", "tt"};
constexpr std::array<std::string_view, 4> kFamilies{"naive_mnk", "reordered_mkn", "transposed_b",
                                                    "blocked"};

Config random_config(const Family& family, const Problem& problem, const DeviceLimits& limits,
                     Random& random) {
  const std::vector<Config> candidates = configs_of(family, problem, limits);
  REQUIRE_FALSE(candidates.empty());
  return candidates[random() % candidates.size()];
}

// The kernels ignore the numerics of f32 and fp8, so one numerics of each suffices.
bool is_another_numerics(const TypeCase& types) {
  return types.numerics == Numerics::kTf32 || types.numerics == Numerics::kEmulated ||
         types.numerics == Numerics::kPromoted;
}

// One class per element type; layouts and activations alternate over the types.
std::vector<FamilyCase> one_class_a_type(const Family& family, const DeviceLimits& limits,
                                         Random& random) {
  std::vector<FamilyCase> cases;
  std::size_t number = random() % (kLayouts.size() * std::size(kActivations.rows));
  for (const TypeCase& types : all_type_cases()) {
    if (is_another_numerics(types)) {
      continue;
    }
    const Problem problem_class =
        random_class_of(family, types, kLayouts[number % 4], static_cast<int>(number / 4), random);
    number += 29;  // no common divisor with the number of combinations
    const Config config =
        random_config(family, with_sizes(problem_class, 300, 300, 600), limits, random);
    for (int shape = 0; shape < kShapes; ++shape) {
      cases.push_back({types, random_sizes(problem_class, random), config});
    }
  }
  return cases;
}

void check(const Family& family, const std::vector<FamilyCase>& cases, Device& device) {
  const auto start = std::chrono::steady_clock::now();
  const FamilyReport report = check_family(family, cases, device, device.limits(), test_seed());
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  std::cout << family.name() << ", " << spent.count() << " s, seed " << test_seed() << ": "
            << to_text(report) << std::flush;
  CHECK(report.failed == 0);
}

void test_family(std::string_view name) {
  HostDevice device(0);
  const Family& family = *find_family(name);
  Random random(test_seed());
  check(family, one_class_a_type(family, device.limits(), random), device);
}

// A device that has only the linked-in kernel.
class DeviceWithoutCompiler final : public HostDevice {
 public:
  DeviceWithoutCompiler() : HostDevice(0) {}
  std::string why_not_compile() override { return "the linked-in kernel is tested"; }
};

}  // namespace

TEST_CASE("The host ladder multiplies every shape", "[host][ladder]") {
  for (const std::string_view name : {"naive_mnk", "reordered_mkn", "transposed_b"}) {
    test_family(name);
  }
}

TEST_CASE("blocked multiplies every shape", "[host][blocked]") {
  test_family("blocked");
}

TEST_CASE("blocked multiplies more columns and a longer K than one block", "[host][blocked]") {
  HostDevice device(0);
  const Family& family = *find_family("blocked");
  Random random(test_seed());
  const TypeCase types{DataType::kF32, DataType::kF32, DataType::kF32, Numerics::kIeee};
  std::vector<FamilyCase> cases;
  for (const std::string_view layout : {"nn", "nt"}) {
    // Each thread's part has more than one block of N, and the last block of K is partial.
    const Problem wide = with_sizes(random_class(types, layout, 0, random), 7, 2200, 300);
    Config config = random_config(family, wide, device.limits(), random);
    config.set("block_n", 1024);
    config.set("block_k", 128);
    config.set("split_m", 1);
    config.set("split_n", 1);
    cases.push_back({types, wide, config});
  }
  check(family, cases, device);
}

// Packing transposes squares of `vector_bytes` / accumulator bytes; the last one overlaps.
TEST_CASE("blocked packs any depth around the squares that it transposes", "[host][blocked]") {
  HostDevice device(0);
  const Family& family = *find_family("blocked");
  Random random(test_seed());
  std::vector<FamilyCase> cases;
  for (const TypeCase& types : all_type_cases()) {
    if (is_another_numerics(types)) {
      continue;
    }
    const Problem problem_class = random_class(types, "nt", 0, random);
    const Config config =
        random_config(family, with_sizes(problem_class, 300, 300, 600), device.limits(), random);
    for (const std::int64_t k : {1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 129, 257}) {
      cases.push_back({types, with_sizes(problem_class, 37, 29, k), config});
    }
  }
  check(family, cases, device);
}

TEST_CASE("The linked-in kernel multiplies every shape", "[host]") {
  DeviceWithoutCompiler device;
  const Family& family = *find_family("blocked");
  Random random(test_seed());
  check(family, random_cases(family, device.limits(), kClasses, 1, random), device);
}

TEST_CASE("Host families multiply every type in every layout", "[host][slow]") {
  HostDevice device(0);
  for (const std::string_view name : kFamilies) {
    const Family& family = *find_family(name);
    Random random(test_seed());
    check(family, random_cases(family, device.limits(), 2, 4, random), device);
  }
}

}  // namespace tunedgemm::internal
