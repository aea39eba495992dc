// The guarantees of the skinny family's host half, checked without a GPU or a compiler.

#include "kernel_templates/cuda/skinny/skinny.h"

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

Problem problem_of(DataType type, std::int64_t m, std::int64_t n, std::int64_t k,
                   std::string_view layout = "nn", std::int32_t alignment = 16) {
  const DataType output = type == DataType::kS8     ? DataType::kS32
                          : type == DataType::kE4M3 ? DataType::kF16
                                                    : type;
  Problem problem = make_problem(m, n, k, type, type, output, layout);
  alignment = std::max(alignment, static_cast<std::int32_t>(size_bytes(type)));
  problem.a.alignment_bytes = problem.b.alignment_bytes = alignment;
  return problem;
}

Config usual() {
  return Config({{"wide_b", 1},
                 {"columns", 8},
                 {"unroll", 4},
                 {"warps_l", 8},
                 {"warps_k", 1},
                 {"split_k", 1}});
}

std::string why_not_with(std::string_view knob, int value, const Problem& problem) {
  return refusal(skinny_family(), problem, usual().set(knob, value), h200());
}

constexpr std::array kTypes{DataType::kF64, DataType::kF32,  DataType::kF16,
                            DataType::kS8,  DataType::kE4M3, DataType::kBF16};

}  // namespace

TEST_CASE("skinny has legal, distinct candidates for few rows and columns of any alignment") {
  for (const DataType type : kTypes) {
    for (const std::string_view layout : {"nn", "nt", "tn", "tt"}) {
      for (const std::int32_t alignment : {16, 8, 4, 2, 1}) {
        for (const auto& [m, n] : {std::array<std::int64_t, 2>{1, 4096}, {16, 5003}, {4097, 3}}) {
          const Problem problem = problem_of(type, m, n, 1021, layout, alignment);
          const std::vector<Config> candidates = configs_of(skinny_family(), problem, h200());
          INFO(to_text(problem));
          // A class for each of 16 warps leaves few registers.
          CHECK(candidates.size() >= (problem.a.alignment_bytes == 1 ? 0 : 4));
          CHECK(candidates.size() <= 400);
          std::set<std::string> texts;
          for (const Config& config : candidates) {
            CHECK(refusal(skinny_family(), problem, config, h200()) == "");
            CHECK(texts.insert(to_text(config)).second);
          }
        }
      }
    }
  }
}

TEST_CASE("skinny has no candidates for more than 16 rows and columns") {
  CHECK(configs_of(skinny_family(), problem_of(DataType::kF16, 17, 4096, 512), h200()).empty());
}

TEST_CASE("skinny's refusals name the knob and its value") {
  const Problem f16 = problem_of(DataType::kF16, 4, 4096, 4096, "nt");
  CHECK(refusal(skinny_family(), f16, usual(), h200()) == "");
  CHECK_THAT(why_not_with("columns", 4, f16), ContainsSubstring("columns=4"));
  CHECK_THAT(why_not_with("wide_b", 0, f16), ContainsSubstring("D has 4096 columns"));
  CHECK_THAT(why_not_with("columns", 8, problem_of(DataType::kF16, 9, 4096, 64, "nt")),
             ContainsSubstring("D has 9 rows"));
  CHECK_THAT(why_not_with("warps_k", 4, f16), ContainsSubstring("warps_l=8 and warps_k=4"));
  CHECK_THAT(why_not_with("split_k", 64, problem_of(DataType::kF16, 4, 4096, 256, "nt")),
             ContainsSubstring("split_k=64"));
  const Problem unaligned = problem_of(DataType::kF16, 4, 4096, 4096, "nt", 2);
  CHECK_THAT(
      refusal(skinny_family(), unaligned, usual().set("warps_l", 4).set("split_k", 2), h200()),
      ContainsSubstring("warps_l=4") && ContainsSubstring("or, with warps_k=1 and split_k=1"));
  CHECK_THAT(why_not_with("warps_k", 2, problem_of(DataType::kF16, 4, 4096, 4096, "nn", 4)),
             ContainsSubstring("warps_k=2"));
  CHECK_THAT(why_not_with("unroll", 4, problem_of(DataType::kF16, 4, 1LL << 31, 64, "nt")),
             ContainsSubstring("2147483648 columns"));
}

TEST_CASE("skinny reads f32 with ieee products on every GPU, other types from sm_80 on") {
  DeviceLimits turing = h200();
  turing.arch = 75;
  const Config exact = usual().set("columns", 4);
  CHECK(refusal(skinny_family(), problem_of(DataType::kF32, 4, 4096, 4096), exact, turing) == "");
  CHECK_THAT(refusal(skinny_family(), problem_of(DataType::kF16, 4, 4096, 4096), usual(), turing),
             ContainsSubstring("7.5"));
}

TEST_CASE("skinny's CTAs may divide the classes of unaligned rows among them") {
  // 8 classes of 8 rows: a tile of 64 columns of D for 8 warps, or for 4 CTAs of 2 warps.
  const Problem problem = problem_of(DataType::kF16, 1, 5003, 127, "nt", 2);
  const auto ctas_with = [&](int warps_l) {
    const Config config = usual().set("warps_l", warps_l);
    return instance_of(skinny_family(), problem, config, h200()).launch.grid[0];
  };
  CHECK(ctas_with(8) == 79);
  CHECK(ctas_with(4) == 2 * 79);
  CHECK(ctas_with(2) == 4 * 79);
}

TEST_CASE("skinny needs a workspace only for split K") {
  const Problem problem = problem_of(DataType::kF16, 8, 4096, 8192, "nt");
  const auto launch_with = [&](int split_k) {
    return instance_of(skinny_family(), problem, usual().set("split_k", split_k), h200()).launch;
  };
  CHECK(launch_with(1).workspace_bytes == 0);
  CHECK(launch_with(8).grid[0] == 8 * launch_with(1).grid[0]);
  CHECK(launch_with(8).workspace_bytes >= 8 * 8 * 4096 * 4);
}
