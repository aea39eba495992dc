// What the wgmma family is believed to cost, checked without a GPU or a compiler.

#include <cmath>
#include <vector>

#include "kernel_templates/cuda/wgmma/wgmma.h"
#include "tests/kernel_templates/support/wgmma_cases.h"
#include "tests/support/catch.h"

using namespace tunedgemm::internal;

namespace {

/// Also of a config that the family would refuse.
double predicted_us(const Problem& asked, const Config& config) {
  const Problem problem = problem_of_kernel(asked, config);
  return wgmma_us(problem, WgmmaShape(problem, config), wgmma_device());
}

}  // namespace

TEST_CASE("wgmma's predicted times are finite, positive, and grow with M") {
  for (const Kind& kind : wgmma_kinds()) {
    for (const Size& size : {Size{4096, 4096, 4096}, {1, 1, 1}, {96, 4096, 14336}}) {
      Problem problem = padded(kind, size);
      for (const Config& config : wgmma_candidates_for(problem)) {
        INFO(to_text(config) << " for " << to_text(problem));
        double shorter_us = 0;
        for (const std::int64_t m : {1, 8, 64, 512, 4096, 32768, 262144}) {
          problem.m = m;
          const double us = predicted_us(problem, config);
          CHECK(std::isfinite(us));
          CHECK(us > 0);
          CHECK(us >= shorter_us);  // the same where a tile holds either
          shorter_us = us;
        }
        problem.m = 1;
        CHECK(shorter_us > predicted_us(problem, config));
      }
    }
  }
}

TEST_CASE("What runs when nothing is known splits K where few tiles have a long K") {
  for (const Size& size : {Size{96, 160, 98304}, {512, 512, 65536}, {128, 128, 131072}}) {
    const Problem problem = padded({DataType::kBF16, DataType::kBF16, DataType::kBF16, "nt"}, size);
    const Instance chosen = default_candidate(problem, wgmma_device());
    INFO(to_text(problem) << ": " << to_text(chosen.candidate));
    CHECK(chosen.launch.needs_workspace());
    CHECK(chosen.candidate.config.at("split_k") > 1);
    for (const Instance& other : ranked_candidates(problem, wgmma_device())) {
      if (!other.launch.needs_workspace()) {
        CHECK(other.predicted_us > 1.5 * chosen.predicted_us);
        break;
      }
    }
  }
  const Problem square = padded({}, {4096, 4096, 4096});
  CHECK(default_candidate(square, wgmma_device()).candidate.config.at("split_k") == 1);
}

TEST_CASE("wgmma expects more time where the elements of D must leave one by one") {
  Problem aligned = padded({}, {4096, 4096, 4096});
  Problem unaligned = aligned;
  unaligned.d.alignment_bytes = 2;
  const Config config = wgmma_config({{"tensor_store", 0}});
  CHECK(predicted_us(unaligned, config) > 1.02 * predicted_us(aligned, config));
}

TEST_CASE("wgmma expects a stage more to help only where copies would come late") {
  const Problem problem = padded({.layout = "nt"}, {4096, 4096, 4096});
  const auto us = [&](int block_n, int stages) {
    const Config config = wgmma_config({{"block_n", block_n}, {"stages", stages}});
    return predicted_us(problem, config);
  };
  // A stage of 128 x 128 is multiplied in 512 cycles, one of 128 x 256 in 1024.
  CHECK(us(128, 3) > us(128, 4));
  CHECK(us(128, 5) == us(128, 6));
  CHECK(us(256, 3) > us(256, 4));
}

TEST_CASE("wgmma expects copies to take longer where their lines lie in two of the cache") {
  const auto us = [](std::string_view layout, std::int64_t k, std::int64_t lda) {
    Problem problem = padded({.layout = layout}, {4096, 1024, k});
    problem.a.leading_dimension = lda;
    const Config config = wgmma_config({{"block_n", 64}, {"block_m", 128}});
    return predicted_us(problem, config);
  };
  // In bytes 8192, then all but one line of 8, every second line, and none again.
  CHECK(us("nn", 4096, 4096 + 8) > 1.1 * us("nn", 4096, 4096));
  CHECK(us("nn", 4096, 4096 + 32) < us("nn", 4096, 4096 + 8));
  CHECK(us("nn", 4096, 4096 + 64) == us("nn", 4096, 4096));
  CHECK(us("tn", 4096, 4096 + 8) > 1.1 * us("tn", 4096, 4096));
}
