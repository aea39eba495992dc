#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kernel_templates/host/families.h"
#include "tests/support/catch.h"
#include "tests/support/instances.h"

namespace tunedgemm::internal {
namespace {

DeviceLimits host_limits(int threads, int simd_bits) {
  DeviceLimits limits;
  limits.backend = "host";
  limits.threads = threads;
  limits.simd_bits = simd_bits;
  limits.l2_bytes = 1 << 20;
  limits.memory_bytes = std::int64_t{16} << 30;
  limits.clock_ghz = 3.5;
  limits.memory_gb_per_s = 30;
  return limits;
}

Problem f32_problem(std::int64_t m, std::int64_t n, std::int64_t k) {
  return make_problem(m, n, k, DataType::kF32, DataType::kF32, DataType::kF32);
}

Config blocked_config() {
  return *parse_config(
      "vector_bytes=32 tile_m=6 tile_n=2 block_m=256 block_n=4096 block_k=256 split_m=1 split_n=2 "
      "prefetch=8");
}

}  // namespace

// C++ headers that do more than name types: <cmath> alone takes half the time of a compilation.
TEST_CASE("Host kernels include only <cstdint> and <cstring>") {
  const Problem problem = f32_problem(64, 64, 64);
  for (const Family* family : families("host")) {
    const Source source = family->candidates(problem, host_limits(2, 256)).front().source();
    std::vector<SourceFile> files = source.includes;
    REQUIRE_FALSE(files.empty());
    files.push_back(source.file);
    for (const SourceFile& file : files) {
      std::istringstream lines{std::string(file.text)};
      for (std::string line; std::getline(lines, line);) {
        INFO(file.name << ": " << line);
        CHECK((!line.starts_with("#include <") || line == "#include <cstdint>" ||
               line == "#include <cstring>"));
      }
    }
  }
}

TEST_CASE("Host families refuse a GPU") {
  DeviceLimits gpu;
  gpu.backend = "cuda";
  CHECK_THAT(refusal(blocked_family(), f32_problem(8, 8, 8), blocked_config(), gpu),
             Catch::Matchers::ContainsSubstring("host"));
}

TEST_CASE("blocked names the knob that does not fit the CPU") {
  const Problem problem = f32_problem(64, 64, 64);
  const DeviceLimits avx2 = host_limits(2, 256);
  CHECK(refusal(blocked_family(), problem, blocked_config(), avx2).empty());

  CHECK_THAT(refusal(blocked_family(), problem, blocked_config().set("vector_bytes", 64), avx2),
             Catch::Matchers::ContainsSubstring("vector_bytes=64"));
  CHECK_THAT(refusal(blocked_family(), problem, blocked_config().set("tile_m", 12), avx2),
             Catch::Matchers::ContainsSubstring("27 vector registers"));
  CHECK_THAT(refusal(blocked_family(), problem, blocked_config().set("split_m", 2), avx2),
             Catch::Matchers::ContainsSubstring("split_m * split_n = 4"));
  CHECK_THAT(refusal(blocked_family(), problem, blocked_config().set("stages", 4), avx2),
             Catch::Matchers::ContainsSubstring("no knob stages"));
}

TEST_CASE("transposed_b refuses a B that would fill the memory") {
  const Config config = *parse_config("partial_sums=16 swap_ab=0");
  const DeviceLimits limits = host_limits(2, 256);
  CHECK(refusal(transposed_b_family(), f32_problem(8, 4096, 4096), config, limits).empty());
  CHECK_THAT(refusal(transposed_b_family(), f32_problem(8, 65536, 65536), config, limits),
             Catch::Matchers::ContainsSubstring("memory"));
}

TEST_CASE("A row times a column-major B is predicted as fast as B's transpose times a column") {
  for (const DataType type : {DataType::kF32, DataType::kBF16, DataType::kS8}) {
    const DataType result = type == DataType::kS8 ? DataType::kS32 : DataType::kF32;
    const DeviceLimits limits = host_limits(2, 512);
    const auto best_us = [&](const Problem& problem) {
      return ranked_candidates(problem, limits).front().predicted_us;
    };
    const double row = best_us(make_problem(1, 4096, 4096, type, type, result, "nt"));
    const double column = best_us(make_problem(4096, 1, 4096, type, type, result, "nt"));
    CHECK(row <= 1.1 * column);
  }
}

TEST_CASE("Candidates of host families are legal, distinct and not too many") {
  for (const int threads : {1, 2, 7, 24, 96, 1000}) {
    for (const int simd_bits : {128, 256, 512}) {
      const DeviceLimits limits = host_limits(threads, simd_bits);
      for (const Problem& problem :
           {f32_problem(1, 1, 1), f32_problem(1, 4096, 4096), f32_problem(333, 777, 555),
            f32_problem(4096, 4096, 0),
            make_problem(64, 64, 4096, DataType::kF64, DataType::kF64, DataType::kF64, "tt"),
            make_problem(9, 5, 7, DataType::kS8, DataType::kS8, DataType::kS32, "nt")}) {
        for (const Family* family : families("host")) {
          const std::vector<Config> candidates = configs_of(*family, problem, limits);
          CAPTURE(family->name(), threads, simd_bits, to_text(problem));
          CHECK_FALSE(candidates.empty());
          CHECK(candidates.size() < 3000);
          std::set<std::string> texts;
          for (const Config& config : candidates) {
            CHECK(refusal(*family, problem, config, limits).empty());
            CHECK(texts.insert(to_text(config)).second);
            CHECK(instance_of(*family, problem, config, limits).predicted_us > 0);
          }
        }
      }
    }
  }
}

TEST_CASE("The host's default gives every thread work if there is enough") {
  const DeviceLimits limits = host_limits(8, 512);
  const Candidate large = default_candidate(f32_problem(2048, 2048, 2048), limits).candidate;
  CHECK(large.family == &blocked_family());
  CHECK(large.config.at("split_m") * large.config.at("split_n") == 8);

  const Instance tiny = default_candidate(f32_problem(4, 4, 4), limits);
  CHECK(tiny.launch.grid[0] == 1);
}

}  // namespace tunedgemm::internal
