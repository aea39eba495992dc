// Compiles wgmma kernels by NVRTC, without a GPU: the largest tiles, and tiles with 8 tail columns.

#include <tuple>
#include <vector>

#include "tests/runtime/support/compile_check.h"
#include "tests/support/catch.h"
#include "tests/support/instances.h"
#include "tests/support/wgmma_config.h"

namespace tunedgemm::internal {
namespace {

// A tile of block_m x block_n for the given number of consumers.
Config config_of(int block_m, int block_n, int consumers, int line_elements) {
  return wgmma_config({{"block_m", block_m},
                       {"block_n", block_n},
                       {"block_k", line_elements},
                       {"stages", 3},
                       {"epilogue_stages", 1},
                       {"consumers", consumers},
                       {"cluster_n", 2},
                       {"gpc_aware", 1},
                       {"prefetch", 2}});
}

CompileSample sample_of(DataType type, std::string_view layout, const Config& config,
                        Numerics numerics = Numerics::kIeee) {
  const DataType d = is_fp8(type) ? DataType::kF16 : type == DataType::kS8 ? DataType::kS32 : type;
  Problem problem = make_problem(2048, 2048, 2048, type, type, d, layout);
  problem.numerics = numerics;
  return {find_family("wgmma"), 90, canonical(problem), config};
}

}  // namespace

TEST_CASE("wgmma's largest tiles, and widths between whole blocks, compile and do not spill",
          "[nvrtc]") {
  TUNEDGEMM_FIND_NVRTC(nvrtc);
  std::vector<CompileSample> samples;
  for (const int swap_ab : {0, 1}) {
    for (const auto& [block_m, block_n, consumers, split_k] : {std::tuple(128, 200, 2, 1),
                                                               {128, 248, 2, 1},
                                                               {192, 200, 3, 1},
                                                               {256, 184, 2, 1},
                                                               {256, 192, 2, 1},
                                                               {256, 168, 2, 3},
                                                               {128, 136, 2, 4},
                                                               {64, 232, 1, 1}}) {
      Config config = config_of(block_m, block_n, consumers, 64);
      config.set("swap_ab", swap_ab).set("split_k", split_k);
      config.set("evict_first", 1).set("raster_along_n", swap_ab);
      samples.push_back(sample_of(DataType::kF16, "nn", config));
    }
  }
  samples.push_back(sample_of(DataType::kBF16, "nt", config_of(256, 136, 2, 64)));
  Config sharing_b = config_of(128, 192, 2, 64);
  sharing_b.set("cluster_m", 2).set("cluster_n", 1).set("evict_first", 1);
  samples.push_back(sample_of(DataType::kBF16, "nt", sharing_b));
  samples.push_back(sample_of(DataType::kE4M3, "nt", config_of(192, 200, 3, 128), Numerics::kFast));
  samples.push_back(sample_of(DataType::kF32, "nt", config_of(192, 200, 3, 32), Numerics::kTf32));
  samples.push_back(sample_of(DataType::kF32, "tt", config_of(192, 192, 3, 32), Numerics::kTf32));
  samples.push_back(sample_of(DataType::kBF16, "nt", config_of(256, 96, 1, 64)));
  samples.push_back(sample_of(DataType::kBF16, "nt", config_of(192, 128, 1, 64)));
  for (const int swap_ab : {0, 1}) {
    Config with_bias = config_of(256, 160, 2, 64), with_c = config_of(256, 112, 2, 64);
    samples.push_back(sample_of(DataType::kBF16, "nt", with_bias.set("swap_ab", swap_ab)));
    samples.back().problem.bias = Bias::kPerColumn;
    samples.push_back(sample_of(DataType::kBF16, "nt", with_c.set("swap_ab", swap_ab)));
    samples.back().problem.beta = ScalarClass::kOther;
  }
  samples.push_back(sample_of(DataType::kBF16, "nt", config_of(128, 256, 2, 64)));
  samples.back().problem.beta = ScalarClass::kOther;
  samples.push_back(sample_of(DataType::kE4M3, "tn", config_of(256, 192, 2, 128), Numerics::kFast));
  for (const std::string_view layout : {"nn", "nt", "tn", "tt"}) {
    for (const auto& [block_m, block_n, consumers, split_k] : {std::tuple(128, 136, 2, 1),
                                                               {256, 48, 2, 1},
                                                               {128, 112, 2, 4},
                                                               {64, 160, 1, 1},
                                                               {128, 64, 1, 3},
                                                               {192, 48, 3, 1}}) {
      Config config = config_of(block_m, block_n, consumers, 16);
      samples.push_back(
          sample_of(DataType::kF64, layout, config.set("in_flight", 0).set("split_k", split_k)));
    }
  }
  Config promoted = config_of(256, 104, 2, 128);
  samples.push_back(
      sample_of(DataType::kE4M3, "nt", promoted.set("in_flight", 0), Numerics::kPromoted));
  samples.back().problem.beta = ScalarClass::kOther;
  for (const CompileSample& sample : samples) {
    INFO(text_of(sample));
    REQUIRE(refusal(*sample.family, sample.problem, sample.config, limits_of(90)) == "");
  }
  const CompileReport report =
      compile_all(nvrtc, samples, std::chrono::steady_clock::time_point::max());
  CHECK(report.compiled == samples.size());
  CHECK(report.spilling == 0);
}

TEST_CASE("wgmma refuses by static_assert widths that its 8-bit products or copies do not support",
          "[nvrtc]") {
  TUNEDGEMM_FIND_NVRTC(nvrtc);
  const Config whole = config_of(128, 32, 2, 128);
  for (const CompileSample& sample : {sample_of(DataType::kS8, "nt", whole),
                                      sample_of(DataType::kE4M3, "nn", whole, Numerics::kFast)}) {
    INFO(text_of(sample));
    Config between = sample.config;
    between.set("block_n", 24);
    CHECK(refusal(*sample.family, sample.problem, sample.config, limits_of(90)) == "");
    CHECK(refusal(*sample.family, sample.problem, between, limits_of(90)) != "");
    const Source source =
        instance_of(*sample.family, sample.problem, sample.config, limits_of(90)).source();
    CHECK(is_refused_by_assertion(nvrtc, with_define(source, "BLOCK_N", "24")));
  }
}

}  // namespace tunedgemm::internal
