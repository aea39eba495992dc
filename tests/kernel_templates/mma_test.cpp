// The guarantees of the mma family's host half, checked without a GPU or a compiler.

#include "kernel_templates/cuda/mma/mma.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "kernel_templates/cuda/families.h"
#include "tests/support/catch.h"
#include "tests/support/gpus.h"
#include "tests/support/instances.h"

using namespace tunedgemm::internal;
using Catch::Matchers::ContainsSubstring;

namespace {

DeviceLimits device(int arch, std::int64_t shared_bytes) {
  DeviceLimits limits = h200();
  limits.arch = arch;
  limits.shared_bytes_per_block = shared_bytes;
  limits.shared_bytes_per_sm = shared_bytes + 1024;
  return limits;
}

Problem problem_of(DataType type, DataType output, std::string_view layout = "nn",
                   Numerics numerics = Numerics::kIeee) {
  Problem problem = make_problem(4096, 4096, 4096, type, type, output, layout);
  if (numerics != Numerics::kIeee) {
    problem.numerics = numerics;
  }
  return problem;
}

/// Every kind of product, in every layout.
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

}  // namespace

TEST_CASE("mma's candidates for fp8 contain all 16 configs of Triton's tutorial") {
  REQUIRE(triton_tutorial_configs().size() == 16);
  for (const std::string_view layout : {"nn", "nt", "tn", "tt"}) {
    const Problem problem = problem_of(DataType::kE4M3, DataType::kF16, layout);
    CHECK(tutorial_configs_among(configs_of(mma_family(), problem, h200())) == 16);
  }
}

TEST_CASE("mma's candidates are legal, distinct and not too many, for every type and alignment") {
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

TEST_CASE("mma refuses IEEE products of f32 and names the family that computes them") {
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

TEST_CASE("mma needs a workspace only for split K") {
  const Problem problem = sized(problem_of(DataType::kF16, DataType::kF16), 128, 256, 8192);
  CHECK(instance_of(mma_family(), problem, usual(), h200()).launch.workspace_bytes == 0);
  const Launch launch =
      instance_of(mma_family(), problem, usual().set("split_k", 8), h200()).launch;
  CHECK(launch.grid[0] == 2 * 8);
  CHECK(launch.workspace_bytes >= 2 * 8 * 128 * 128 * 4);
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
