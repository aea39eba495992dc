// Grouped products: the tiles that a launch has room for, and the candidates of the CUDA families.

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "kernel_templates/cuda/geometry.h"
#include "kernel_templates/cuda/wgmma/wgmma.h"
#include "kernel_templates/problem/problem_grammar.h"
#include "tests/kernel_templates/support/wgmma_cases.h"
#include "tests/support/catch.h"
#include "tests/support/instances.h"
#include "tests/support/seed.h"

using namespace tunedgemm::internal;
using Catch::Matchers::ContainsSubstring;

namespace {

Problem parsed(const std::string& text) {
  Problem written = default_problem();
  read_text(text, written);
  return canonical(completed(written));
}

std::vector<Instance> candidates(const char* family, const Problem& problem) {
  return find_family(family)->candidates(problem, wgmma_device());
}

}  // namespace

TEST_CASE("A launch has room for the tiles of any division of the rows into groups") {
  std::mt19937_64 random(test_seed());
  for (int repetition = 0; repetition < 2000; ++repetition) {
    const auto groups = static_cast<std::int64_t>(1 + random() % 40);
    const auto rows = static_cast<std::int64_t>(1 + random() % 500);
    const int block = 1 << (random() % 9);
    std::vector<std::int64_t> ends(static_cast<std::size_t>(groups));
    std::ranges::generate(ends, [&] { return static_cast<std::int64_t>(random()) % (rows + 1); });
    std::ranges::for_each(ends, [](std::int64_t& end) { end = end < 0 ? -end : end; });
    std::ranges::sort(ends);
    std::int64_t tiles = 0, begin = 0;
    for (const std::int64_t end : ends) {
      tiles += ceil_divide(end - begin, block);
      begin = end;
    }
    Problem problem = parsed("types=bf16 layout=nt m=1 n=64 k=64 group_kind=rows");
    problem.m = rows;
    problem.batch = groups;
    const Tiling most = tiling(problem, block, 64);
    CAPTURE(groups, rows, block);
    CHECK(tiles <= most.tiles_m);
    CHECK(most.tiles_m <= ceil_divide(rows, block) + groups);
    CHECK(most.batch == 1);
  }
}

TEST_CASE("Families for tensor cores have kernels for groups of rows of all sizes") {
  for (const char* const types : {"bf16", "f16->f32", "e4m3->bf16", "s8"}) {
    for (const char* const kind : {"rows rows_per_group=1", "rows rows_per_group=512", "counts",
                                   "counts rows_per_group=16", "ranges"}) {
      const Problem problem = parsed(std::string("types=") + types +
                                     " layout=nt m=4096 n=1536 k=2048 batch=32 group_kind=" + kind);
      CAPTURE(to_text(problem));
      for (const char* const family : {"mma", "wgmma"}) {
        CHECK(candidates(family, problem).size() >= 8);
      }
      for (const Instance& instance : candidates("wgmma", problem)) {
        CHECK(instance.launch.shared_bytes <= wgmma_device().shared_bytes_per_block);
        CHECK(instance.launch.tensor_maps[2].is_ragged ==
              (instance.launch.tensor_map_count == 3 &&
               instance.candidate.config.at("tensor_store") == 1));
      }
    }
  }
}

TEST_CASE("Few rows of a group are computed as columns of the transpose") {
  const Problem problem =
      parsed("types=bf16 layout=nt m=256 n=4096 k=7168 batch=16 group_kind=rows rows_per_group=16");
  const std::vector<Instance> all = candidates("wgmma", problem);
  const Instance best = *std::ranges::min_element(all, {}, &Instance::predicted_us);
  CAPTURE(to_text(best.candidate));
  CHECK(best.candidate.config.at("swap_ab") == 1);
  CHECK(best.candidate.config.at("block_n") <= 32);
  CHECK(best.launch.grid[0] > 100);
}

TEST_CASE("The predictions for groups are the means of equal and skewed ones") {
  const auto us = [](const Problem& problem) {
    return default_candidate(problem, wgmma_device()).predicted_us;
  };
  const auto grouped = [](const std::string& text) {
    return parsed("types=bf16 layout=nt n=4096 k=4096 group_kind=rows " + text);
  };
  const Problem problem = grouped("m=8192 batch=8");
  CHECK(us(problem) == Catch::Approx(us(canonical(batch_of_equal_groups(problem)))).epsilon(0.1));
  const auto [large, small] = batches_of_skewed_groups(grouped("m=28672 batch=16"));
  CHECK((large.batch == 4 && large.m == 4096 && small.batch == 12 && small.m == 1024));
  // Equal groups of 256 rows fill their tiles; skewed ones have 586 and 147 rows.
  CHECK(us(grouped("m=16384 batch=64")) >
        1.03 * us(canonical(batch_of_equal_groups(grouped("m=16384 batch=64")))));
}

TEST_CASE("Kernels serve similar numbers of groups") {
  const auto sources = [](const char* groups) {
    std::set<std::string> fingerprints;
    for (const Instance& instance :
         candidates("wgmma", parsed(std::string("types=bf16 layout=nt m=8192 n=4096 k=4096 ") +
                                    "group_kind=rows rows_per_group=512 batch=" + groups))) {
      fingerprints.insert(fingerprint(instance.source()));
    }
    return fingerprints;
  };
  CHECK(sources("33") == sources("34"));
  CHECK(sources("64") != sources("65"));
}

TEST_CASE("Families refuse the groups that they cannot compute, with the reason") {
  const auto problem = [](const std::string& text) {
    return parsed("types=bf16 m=512 n=512 k=512 " + text);
  };
  const auto why_not_wgmma = [&](const std::string& text, const Knobs& knobs = {}) {
    return refusal(wgmma_family(), problem(text), wgmma_config(knobs), wgmma_device());
  };
  CHECK(why_not_wgmma("batch=4 group_kind=rows", {{"stages", 3}}).empty());
  CHECK(why_not_wgmma("layout=tn batch=4 group_kind=k", {{"stages", 3}}).empty());
  CHECK_THAT(why_not_wgmma("batch=4 group_kind=k"),
             ContainsSubstring("groups along K need a column-major A and a row-major B"));
  CHECK_THAT(why_not_wgmma("layout=tn batch=4 group_kind=k", {{"split_k", 2}}),
             ContainsSubstring("split_k=2: groups along K need 1"));
  CHECK_THAT(why_not_wgmma("layout=tn batch=4 group_kind=rows"),
             ContainsSubstring("groups of rows need a row-major A"));
  CHECK_THAT(why_not_wgmma("batch=4 group_kind=rows", {{"prefetch", 2}}),
             ContainsSubstring("prefetch=2: groups are not known so early"));
  CHECK_THAT(why_not_wgmma("batch=4 group_kind=rows", {{"split_k", 2}}),
             ContainsSubstring("split_k=2: groups of rows") && ContainsSubstring("need split_k=1"));
  CHECK_THAT(why_not_wgmma("batch=1025 group_kind=rows"), ContainsSubstring("1024"));
  CHECK_THAT(why_not_wgmma("batch=4 ldd=520 batch_stride_d=266248 group_kind=counts"),
             ContainsSubstring("the matrices D of the groups are not whole rows apart"));
  CHECK_THAT(
      find_family("naive_2d")->why_no_candidate(problem("batch=4 group_kind=rows"), wgmma_device()),
      ContainsSubstring("naive_2d computes no grouped products"));
  for (const char* const family : {"naive_1d", "simt", "mma"}) {
    for (const char* const kind : {"rows", "counts", "k", "ranges"}) {
      const Problem grouped = problem(std::string("layout=tn batch=4 group_kind=") + kind);
      CHECK(find_family(family)->why_no_candidate(grouped, wgmma_device()).empty());
    }
  }
}
