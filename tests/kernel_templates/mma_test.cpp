// What the host half of the mma family promises, checked without a GPU or a compiler.

#include "kernel_templates/cuda/mma/mma.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "kernel_templates/cuda/families.h"
#include "tests/support/catch.h"
#include "tests/support/instances.h"

using namespace tunedgemm::internal;
using Catch::Matchers::ContainsSubstring;

namespace {

DeviceLimits device(int arch, std::int64_t shared_bytes) {
  DeviceLimits limits;
  limits.backend = "cuda";
  limits.arch = arch;
  limits.sm_count = 132;
  limits.shared_bytes_per_block = shared_bytes;
  limits.shared_bytes_per_sm = shared_bytes + 1024;
  limits.l2_bytes = 50ll << 20;
  limits.memory_bytes = 140ll << 30;
  limits.clock_ghz = 1.755;
  limits.memory_gb_per_s = 4800;
  return limits;
}

DeviceLimits h200() {
  return device(90, 232448);
}

Problem problem_of(DataType type, DataType output, std::string_view layout = "nn",
                   Numerics numerics = Numerics::kIeee) {
  Problem problem = make_problem(4096, 4096, 4096, type, type, output, layout);
  if (numerics != Numerics::kIeee) {
    problem.numerics = numerics;
  }
  return problem;
}

/// One of every kind of products, in f16's place and in every layout.
std::vector<Problem> problems() {
  std::vector<Problem> all;
  for (const std::string_view layout : {"nn", "nt", "tn", "tt"}) {
    all.push_back(problem_of(DataType::kF16, DataType::kF16, layout));
    all.push_back(problem_of(DataType::kBF16, DataType::kF32, layout));
    all.push_back(problem_of(DataType::kF32, DataType::kF32, layout, Numerics::kTf32));
    all.push_back(problem_of(DataType::kF32, DataType::kF32, layout, Numerics::kEmulated));
    all.push_back(problem_of(DataType::kF64, DataType::kF64, layout));
    all.push_back(problem_of(DataType::kS8, DataType::kS32, layout));
    all.push_back(problem_of(DataType::kE4M3, DataType::kF16, layout));
    all.push_back(problem_of(DataType::kE5M2, DataType::kBF16, layout, Numerics::kPromoted));
  }
  return all;
}

Problem sized(Problem problem, std::int64_t m, std::int64_t n, std::int64_t k) {
  problem.m = m;
  problem.n = n;
  problem.k = k;
  return problem;
}

Problem aligned(Problem problem, std::int32_t bytes) {
  problem.a.alignment_bytes =
      std::max(bytes, static_cast<std::int32_t>(size_bytes(problem.a.type)));
  problem.b.alignment_bytes = problem.a.alignment_bytes;
  return problem;
}

Config usual() {
  return Config({{"block_m", 128},
                 {"block_n", 128},
                 {"block_k", 64},
                 {"warp_m", 64},
                 {"warp_n", 32},
                 {"stages", 3},
                 {"group_m", 8},
                 {"split_k", 1}});
}

std::string why_not_with(std::string_view knob, int value, const Problem& problem) {
  return refusal(mma_family(), problem, usual().set(knob, value), h200());
}

bool is(const Config& config, const TritonConfig& triton) {
  const int warps =
      config.at("block_m") / config.at("warp_m") * config.at("block_n") / config.at("warp_n");
  return config.at("block_m") == triton.block_m && config.at("block_n") == triton.block_n &&
         config.at("block_k") == triton.block_k && config.at("stages") == triton.stages &&
         warps == triton.warps && config.at("group_m") == 8 && config.at("split_k") == 1;
}

std::size_t tutorial_configs_among(const std::vector<Config>& configs) {
  const auto tutorial = triton_tutorial_configs();
  return static_cast<std::size_t>(
      std::count_if(tutorial.begin(), tutorial.end(), [&](const TritonConfig& triton) {
        return std::any_of(configs.begin(), configs.end(),
                           [&](const Config& config) { return is(config, triton); });
      }));
}

/// The best predicted.
Config favourite(const Problem& problem, const DeviceLimits& limits) {
  const std::vector<Config> candidates = configs_of(mma_family(), problem, limits);
  return *std::min_element(candidates.begin(), candidates.end(),
                           [&](const Config& left, const Config& right) {
                             return instance_of(mma_family(), problem, left, limits).predicted_us <
                                    instance_of(mma_family(), problem, right, limits).predicted_us;
                           });
}

}  // namespace

TEST_CASE("The configs of Triton's tutorial are 16 different ones of mma, in its order") {
  const std::vector<Config> configs = mma_configs_of_triton_tutorial();
  const auto tutorial = triton_tutorial_configs();
  REQUIRE(configs.size() == tutorial.size());
  for (std::size_t index = 0; index < configs.size(); ++index) {
    CHECK(is(configs[index], tutorial[index]));
    CHECK(std::count(configs.begin(), configs.end(), configs[index]) == 1);
  }
}

TEST_CASE("mma's candidates for fp8 contain all 16 configs of Triton's tutorial") {
  REQUIRE(triton_tutorial_configs().size() == 16);
  for (const std::string_view layout : {"nn", "nt", "tn", "tt"}) {
    const Problem problem = problem_of(DataType::kE4M3, DataType::kF16, layout);
    CHECK(tutorial_configs_among(configs_of(mma_family(), problem, h200())) == 16);
  }
}

TEST_CASE("mma's candidates for f16 contain the tutorial's configs that fit in shared memory") {
  std::size_t fit = 0;
  for (const TritonConfig& triton : triton_tutorial_configs()) {
    const std::int64_t bytes =
        2ll * triton.stages * triton.block_k * (triton.block_m + triton.block_n);
    fit += bytes <= h200().shared_bytes_per_block ? 1 : 0;
  }
  CHECK(fit == 11);  // all but those with block_k=128
  const Problem problem = problem_of(DataType::kF16, DataType::kF16);
  CHECK(tutorial_configs_among(configs_of(mma_family(), problem, h200())) == fit);
}

TEST_CASE("mma's candidates are legal, different and not too many, for every type and alignment") {
  for (const DeviceLimits& limits :
       {device(80, 166912), device(86, 101376), device(89, 101376), h200(), device(120, 101376)}) {
    for (const Problem& square : problems()) {
      for (const std::int32_t alignment : {16, 8, 4, 2, 1}) {
        const Problem problem = aligned(square, alignment);
        const std::vector<Config> candidates = configs_of(mma_family(), problem, limits);
        INFO(to_text(problem) << " on " << limits.arch);
        CHECK(candidates.size() >= 16);
        CHECK(candidates.size() <= 400);
        std::set<std::string> texts;
        for (const Config& config : candidates) {
          CHECK(refusal(mma_family(), problem, config, limits) == "");
          CHECK(texts.insert(to_text(config)).second);
        }
      }
    }
  }
}

TEST_CASE("mma has candidates for the smallest shapes") {
  for (const Problem& square : problems()) {
    for (const auto& [m, n, k] :
         {std::array<std::int64_t, 3>{1, 1, 1}, {1, 4096, 4096}, {4096, 1, 0}, {17, 31, 5}}) {
      const Problem problem = aligned(sized(square, m, n, k), 1);
      CHECK(!configs_of(mma_family(), problem, h200()).empty());
    }
  }
}

TEST_CASE("mma refuses IEEE products of f32 and names the family that forms them") {
  const Problem problem = problem_of(DataType::kF32, DataType::kF32);
  CHECK_THAT(refusal(mma_family(), problem, usual(), h200()), ContainsSubstring("simt"));
  CHECK(configs_of(mma_family(), problem, h200()).empty());
}

TEST_CASE("mma refuses a device without asynchronous copies") {
  const Problem problem = problem_of(DataType::kF16, DataType::kF16);
  CHECK_THAT(refusal(mma_family(), problem, usual(), device(75, 65536)), ContainsSubstring("7.5"));
}

TEST_CASE("mma's refusals name the knob and its value") {
  const Problem f16 = problem_of(DataType::kF16, DataType::kF16);
  CHECK(refusal(mma_family(), f16, usual(), h200()) == "");
  CHECK_THAT(why_not_with("block_m", 32, f16), ContainsSubstring("block_m=32 and warp_m=64"));
  CHECK_THAT(why_not_with("block_n", 16, f16), ContainsSubstring("block_n=16 and warp_n=32"));
  CHECK_THAT(why_not_with("block_k", 8, f16), ContainsSubstring("block_k=8 is 16 bytes"));
  CHECK_THAT(why_not_with("warp_n", 128, f16), ContainsSubstring("registers"));
  CHECK_THAT(refusal(mma_family(), f16, usual().set("warp_m", 16).set("warp_n", 16), h200()),
             ContainsSubstring("64 warps"));
  CHECK_THAT(refusal(mma_family(), f16, usual().set("block_k", 128).set("stages", 6), h200()),
             ContainsSubstring("bytes of shared memory"));
  CHECK_THAT(why_not_with("stages", 2, aligned(f16, 2)), ContainsSubstring("stages=2"));
  CHECK(why_not_with("stages", 2, aligned(f16, 4)) == "");
  CHECK_THAT(why_not_with("split_k", 32, sized(f16, 128, 128, 128)),
             ContainsSubstring("split_k=32"));
}

TEST_CASE("mma needs a workspace only where K is split") {
  const Problem problem = sized(problem_of(DataType::kF16, DataType::kF16), 128, 256, 8192);
  CHECK(instance_of(mma_family(), problem, usual(), h200()).launch.workspace_bytes == 0);
  const Launch launch =
      instance_of(mma_family(), problem, usual().set("split_k", 8), h200()).launch;
  CHECK(launch.grid[0] == 2 * 8);
  CHECK(launch.workspace_bytes >= 2 * 8 * 128 * 128 * 4);
}

TEST_CASE("mma's cost model takes large tiles for many of them, and splits K for few") {
  const Problem f16 = problem_of(DataType::kF16, DataType::kF16);
  const Config large = favourite(f16, h200());
  CHECK(large.at("block_m") * large.at("block_n") >= 128 * 128);
  CHECK(large.at("split_k") == 1);

  CHECK(favourite(sized(f16, 128, 128, 32768), h200()).at("split_k") > 1);
  CHECK(favourite(sized(f16, 16, 4096, 4096), h200()).at("block_m") <= 32);
  const Config small = favourite(sized(f16, 512, 512, 512), h200());
  CHECK(small.at("block_m") * small.at("block_n") <= 64 * 64);
}
