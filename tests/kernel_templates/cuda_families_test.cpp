// The guarantees of the CUDA families' host halves, checked without a GPU or a compiler.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "kernel_templates/cuda/families.h"
#include "kernel_templates/cuda/geometry.h"
#include "tests/support/catch.h"
#include "tests/support/gpus.h"
#include "tests/support/instances.h"

using namespace tunedgemm::internal;

namespace {

std::vector<const Family*> ladder() {
  return {&naive_1d_family(),   &naive_2d_family(),     &row_per_block_family(),
          &row_shared_family(), &tiled_shared_family(), &simt_family()};
}

std::vector<Problem> typical_problems() {
  std::vector<Problem> problems;
  const std::vector<std::pair<DataType, DataType>> types{
      {DataType::kF32, DataType::kF32},  {DataType::kF64, DataType::kF64},
      {DataType::kF16, DataType::kF32},  {DataType::kBF16, DataType::kBF16},
      {DataType::kE4M3, DataType::kF16}, {DataType::kS8, DataType::kS32}};
  for (const auto& [in, out] : types) {
    for (const std::string_view layout : {"nn", "nt", "tn", "tt"}) {
      problems.push_back(make_problem(1024, 768, 512, in, in, out, layout));
      problems.push_back(make_problem(1, 1, 1, in, in, out, layout));
      problems.push_back(make_problem(33, 257, 0, in, in, out, layout));
      problems.push_back(make_problem(127, 4097, 1021, in, in, out, layout));
    }
  }
  return problems;
}

Config default_simt() {
  return Config({{"block_m", 128},
                 {"block_n", 128},
                 {"block_k", 8},
                 {"warp_m", 32},
                 {"warp_n", 64},
                 {"thread_m", 8},
                 {"thread_n", 8},
                 {"stages", 2},
                 {"async_copy", 0},
                 {"group_m", 8},
                 {"split_k", 1}});
}

Config with(Config config, std::string_view knob, int value) {
  return config.set(knob, value);
}

}  // namespace

TEST_CASE("Every candidate of a typical problem is legal and comes once") {
  const DeviceLimits limits = h200();
  for (const Problem& problem : typical_problems()) {
    for (const Family* family : ladder()) {
      const std::vector<Config> candidates = configs_of(*family, problem, limits);
      INFO(family->name() << " for " << to_text(problem));
      CHECK(!candidates.empty());
      std::set<std::string> texts;
      for (const Config& config : candidates) {
        CHECK(refusal(*family, problem, config, limits) == "");
        CHECK(texts.insert(to_text(config)).second);
      }
    }
  }
}

TEST_CASE("A launch stays within the limits of a grid and a block, and its defines match it") {
  const DeviceLimits limits = h200();
  for (const Problem& problem : typical_problems()) {
    for (const Family* family : ladder()) {
      for (const Config& config : configs_of(*family, problem, limits)) {
        INFO(to_text(Candidate{family, config}) << " for " << to_text(problem));
        const Launch launch = instance_of(*family, problem, config, limits).launch;
        const auto threads = launch.block[0] * launch.block[1] * launch.block[2];
        CHECK(launch.grid[0] >= 1);
        CHECK(launch.grid[0] <= kMaxGridX);
        CHECK(threads <= 1024);
        CHECK(threads % 32 == 0);
        CHECK(launch.shared_bytes <= limits.shared_bytes_per_block);
        CHECK(instance_of(*family, problem, config, limits).predicted_us > 0);

        std::set<std::string> macros;
        for (const auto& [macro, value] :
             instance_of(*family, problem, config, limits).source().defines) {
          CHECK(macros.insert(macro).second);
          if (macro == "THREADS") {
            CHECK(value == std::to_string(threads));
          }
          if (macro == "SHARED_BYTES") {
            CHECK(value == std::to_string(launch.shared_bytes));
          }
        }
        CHECK(macros.count("THREADS") == 1);
        CHECK(macros.count("SHARED_BYTES") == 1);
      }
    }
  }
}

TEST_CASE("The naive families also compute what is beyond the end of a grid") {
  const DeviceLimits limits = h200();
  Problem problem = make_problem(1, 1, 1, DataType::kS8, DataType::kS8, DataType::kS32, "nn");
  problem.m = 1LL << 33;
  for (const Family* family : ladder()) {
    const Config config =
        family == &simt_family() ? default_simt() : configs_of(*family, problem, limits).front();
    const Launch launch = instance_of(*family, problem, config, limits).launch;
    CHECK(launch.grid[0] <= kMaxGridX);
    CHECK(launch.grid[1] <= kMaxGridYZ);
  }
}

TEST_CASE("simt counts its k tiles in 32 bits") {
  const DeviceLimits limits = h200();
  const Problem problem =
      make_problem(1, 1, 1LL << 34, DataType::kS8, DataType::kS8, DataType::kS32, "nn");
  CHECK_THAT(refusal(simt_family(), problem, default_simt(), limits),
             Catch::Matchers::ContainsSubstring("k tiles"));
  CHECK(refusal(simt_family(), problem, with(default_simt(), "split_k", 2), limits) == "");
}

TEST_CASE("A bad knob is refused with a sentence that names it") {
  const DeviceLimits limits = h200();
  const Problem problem =
      make_problem(512, 512, 512, DataType::kF32, DataType::kF32, DataType::kF32, "nn");
  const auto why = [&](const Config& config) {
    return refusal(simt_family(), problem, config, limits);
  };
  using Catch::Matchers::ContainsSubstring;
  CHECK(why(default_simt()) == "");
  CHECK_THAT(why(with(default_simt(), "block_m", 96)), ContainsSubstring("block_m=96"));
  CHECK_THAT(why(with(default_simt(), "warp_n", 128)), ContainsSubstring("warp_n"));
  CHECK_THAT(why(with(default_simt(), "thread_m", 4)), ContainsSubstring("32 lanes"));
  CHECK_THAT(why(with(default_simt(), "stages", 3)), ContainsSubstring("stages=3"));
  CHECK(why(with(default_simt(), "split_k", 3)) == "");
  CHECK(why(with(default_simt(), "split_k", 64)) == "");
  CHECK_THAT(why(with(default_simt(), "split_k", 65)), ContainsSubstring("split_k=65"));
  CHECK_THAT(why(with(with(default_simt(), "split_k", 64), "block_k", 16)),
             ContainsSubstring("split_k=64"));
  CHECK_THAT(why(with(default_simt(), "colour", 1)), ContainsSubstring("colour"));
  CHECK_THAT(why(Config()), ContainsSubstring("block_m"));

  Problem half = problem;
  half.a.type = half.b.type = DataType::kF16;
  CHECK_THAT(refusal(simt_family(), half, with(default_simt(), "async_copy", 1), limits),
             ContainsSubstring("async_copy=1"));
  DeviceLimits turing = limits;
  turing.arch = 75;
  CHECK_THAT(refusal(simt_family(), problem, with(default_simt(), "async_copy", 1), turing),
             ContainsSubstring("7.5"));
  DeviceLimits cpu;
  CHECK_THAT(refusal(simt_family(), problem, default_simt(), cpu), ContainsSubstring("CUDA"));
}

TEST_CASE("The model ranks register tiles before naive kernels, except for tiny problems") {
  const DeviceLimits limits = h200();
  for (const std::int64_t size : {256, 512, 1024, 4096}) {
    const Problem problem =
        make_problem(size, size, size, DataType::kF32, DataType::kF32, DataType::kF32, "nn");
    const auto best = [&](const Family& family) {
      double least = 1e300;
      for (const Config& config : configs_of(family, problem, limits)) {
        least = std::min(least, instance_of(family, problem, config, limits).predicted_us);
      }
      return least;
    };
    for (const Family* family : ladder()) {
      INFO(family->name() << " at " << size);
      CHECK(best(simt_family()) <= best(*family));
    }
  }
}

TEST_CASE("The number of tiles with split K is limited by the number of counters") {
  DeviceLimits limits;
  limits.memory_bytes = std::int64_t{1} << 40;
  const Problem problem =
      make_problem(64, 64, 4096, DataType::kF16, DataType::kF16, DataType::kF16);
  const std::int64_t counters = (kWorkspaceCounterBytes - kFamilyCounterBytes) / 4;
  Tiling some{.tiles_m = counters, .tiles_n = 1, .batch = 1, .split_k = 2};
  CHECK(why_not_tiling(problem, some, 32, 64, limits).empty());
  ++some.tiles_m;
  CHECK_FALSE(why_not_tiling(problem, some, 32, 64, limits).empty());
}

TEST_CASE("Each resident CTA takes a KiB of an SM's shared memory for the system") {
  DeviceLimits limits;
  limits.registers_per_sm = 65536;
  limits.max_threads_per_sm = 2048;
  limits.shared_bytes_per_sm = 233472;
  constexpr std::int64_t kHalf = 233472 / 2;
  CHECK(blocks_per_sm(128, 32, kHalf - 1024, limits) == 2);
  CHECK(blocks_per_sm(128, 32, kHalf - 512, limits) == 1);
}
