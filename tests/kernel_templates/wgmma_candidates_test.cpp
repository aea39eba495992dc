// The wgmma family's candidates and their predicted costs, checked without a GPU or a compiler.

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "kernel_templates/cuda/families.h"
#include "kernel_templates/cuda/wgmma/wgmma.h"
#include "tests/kernel_templates/support/wgmma_cases.h"
#include "tests/support/catch.h"
#include "tests/support/instances.h"

using namespace tunedgemm::internal;

namespace {

/// The predicted time, even for a config that the family would refuse.
double predicted_us(const Problem& any_form, const Config& config) {
  const Problem problem = problem_of_kernel(any_form, config);
  return wgmma_us(problem, WgmmaShape(problem, config), wgmma_device());
}

}  // namespace

TEST_CASE("wgmma's candidates are legal and distinct, for every type and size") {
  for (const Kind& kind : wgmma_kinds()) {
    for (const Size& size : {Size{4096, 4096, 4096},
                             {4095, 1023, 515},
                             {127, 257, 8191},
                             {1, 1, 1},
                             {1, 4096, 14336},
                             {17, 31, 5},
                             {1 << 20, 100003, 8192},
                             {64, 64, 1 << 24}}) {
      const Problem problem = padded(kind, size);
      INFO(to_text(problem));
      const std::vector<Config> configs = wgmma_candidates_for(problem);
      CHECK(!configs.empty());
      std::set<std::string> texts;
      for (const Config& config : configs) {
        CHECK(refusal(wgmma_family(), problem, config, wgmma_device()) == "");
        CHECK(texts.insert(to_text(config)).second);
      }
    }
  }
}

TEST_CASE("wgmma has candidates for a batch, for a single matrix, and for every epilogue") {
  Problem problem = batched(padded({}, {197, 197, 64}), 768);
  CHECK(!wgmma_candidates_for(problem).empty());
  problem.b.batch_stride = 0;
  CHECK(!wgmma_candidates_for(problem).empty());
  problem.beta = ScalarClass::kOther;
  problem.bias = Bias::kPerColumn;
  problem.activation = Activation::kGeluErf;
  problem.d.alignment_bytes = 2;
  CHECK(!wgmma_candidates_for(problem).empty());
}

TEST_CASE("wgmma has no candidates without an instruction or a tensor copy for the problem") {
  const Size size{512, 512, 512};
  CHECK(wgmma_candidates_for(padded({DataType::kF32, DataType::kF32, DataType::kF32, "nt"}, size))
            .empty());
  for (const std::string_view layout : {"nn", "tn", "tt"}) {
    for (Kind kind : wgmma_kinds()) {
      kind.layout = layout;
      CHECK_FALSE(wgmma_candidates_for(padded(kind, size)).empty());
    }
  }
  for (const Kind& kind : wgmma_kinds()) {
    for (Matrix Problem::*operand : {&Problem::a, &Problem::b}) {
      Problem unaligned = padded(kind, size);
      (unaligned.*operand).alignment_bytes = 8;
      const std::vector<Config> configs = wgmma_candidates_for(unaligned);
      CHECK_FALSE(configs.empty());
      CHECK(std::ranges::all_of(configs,
                                [](const Config& config) { return config.at("prefetch") == 0; }));
    }
    CHECK(wgmma_candidates_for(padded(kind, {512, 512, 0})).empty());
    for (const int arch : {80, 89, 100, 120}) {
      CHECK(wgmma_candidates_for(padded(kind, size), wgmma_device(arch)).empty());
    }
  }
  CHECK(wgmma_candidates_for(padded({}, size), DeviceLimits()).empty());
}

TEST_CASE("wgmma computes split-K slices in one wave or not at all") {
  for (const Size& size : {Size{512, 512, 65536}, {512, 2112, 7168}, {16, 4096, 7168}}) {
    const Problem problem = padded({}, size);
    std::set<int> splits;
    for (const Config& config : wgmma_candidates_for(problem)) {
      const int split_k = config.at("split_k");
      splits.insert(split_k);
      if (split_k > 1) {
        CHECK(wgmma_works(problem, config) * config.at("cluster_m") * config.at("cluster_n") <=
              132);
        CHECK(config.at("ping_pong") == 0);
      }
    }
    CHECK(splits.size() > 1);
  }
}

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
          CHECK(us >= shorter_us);  // equal if one tile holds both
          shorter_us = us;
        }
        problem.m = 1;
        CHECK(shorter_us > predicted_us(problem, config));
      }
    }
  }
}

TEST_CASE("The untuned choice splits K if few tiles have a long K") {
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
