// Which configs of the wgmma family are tried, checked without a GPU or a compiler.

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernel_templates/cuda/families.h"
#include "tests/kernel_templates/support/wgmma_cases.h"
#include "tests/support/catch.h"
#include "tests/support/instances.h"

using namespace tunedgemm::internal;

TEST_CASE("wgmma's candidates are legal and different, for every type and size") {
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

TEST_CASE("wgmma has candidates for a batch, for one matrix of it, and for every epilogue") {
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

TEST_CASE("wgmma has no candidates where it has no instruction or no tensor copy") {
  const Size size{512, 512, 512};
  CHECK(
      wgmma_candidates_for(padded({DataType::kF64, DataType::kF64, DataType::kF64}, size)).empty());
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

TEST_CASE("wgmma swaps A and B where tiles of M may have any width and tiles of N may not") {
  const auto swapped_widths = [](std::string_view layout, const Size& size) {
    std::set<int> widths;
    for (const Config& config : wgmma_candidates_for(padded({.layout = layout}, size))) {
      if (config.at("swap_ab") != 0) {
        widths.insert(config.at("block_n"));
      }
    }
    return widths;
  };
  const Size large{4096, 4096, 4096};
  CHECK(swapped_widths("nn", large).count(144) == 1);
  CHECK(swapped_widths("nn", large).count(128) == 0);
  CHECK(swapped_widths("tn", large).empty());
  CHECK(swapped_widths("tt", large).empty());
  CHECK(swapped_widths("tn", {16, 4096, 4096}).count(16) == 1);
}

TEST_CASE("wgmma tries widths between those of whole blocks where they end sooner") {
  const auto widths = [](const Kind& kind, const Size& size, int block_m) {
    std::set<int> between;
    for (const Config& config : wgmma_candidates_for(padded(kind, size))) {
      if (config.at("block_m") == block_m && config.at("consumers") == block_m / 64 &&
          config.at("block_n") % 16 != 0) {
        between.insert(config.at("block_n"));
      }
    }
    return between;
  };
  // 14 tiles of 128 rows by 9 of 200 columns are one round, which 9 of 192 do not fill.
  CHECK(widths({}, {1792, 1792, 1792}, 128).count(200) == 1);
  CHECK(widths({}, {1792, 1792, 1792}, 128).count(184) == 0);
  // 32 by 16 tiles of 256 columns are 4 waves; of 248, 17 across are 5.
  CHECK(widths({}, {4096, 4096, 4096}, 128).count(248) == 0);
  // 2 waves of 192 x 168, and 7.
  CHECK(widths({.layout = "nt"}, {1152, 7192, 8184}, 192).count(168) == 1);
  CHECK(widths({.layout = "nt"}, {4112, 7048, 2232}, 192).empty());
  const Kind integers{DataType::kS8, DataType::kS8, DataType::kS32, "nt"};
  CHECK(widths(integers, {1792, 1792, 1792}, 128).empty());
}

TEST_CASE("wgmma lays tiles that stand upright on their side where D is no square") {
  const auto swapped = [](const Kind& kind, const Size& size, int block_m, int block_n) {
    const std::vector<Config> configs = wgmma_candidates_for(padded(kind, size));
    return std::any_of(configs.begin(), configs.end(), [&](const Config& config) {
      return config.at("swap_ab") != 0 && config.at("block_m") == block_m &&
             config.at("block_n") == block_n;
    });
  };
  for (const std::string_view layout : {"nn", "nt", "tn", "tt"}) {
    INFO(layout);
    CHECK(swapped({.layout = layout}, {512, 2112, 7168}, 64, 128));
    CHECK(!swapped({.layout = layout}, {512, 2112, 7168}, 128, 128));
    CHECK(!swapped({.layout = layout}, {2048, 2048, 7168}, 64, 128));
  }
  // The other operand would have to be transposed.
  CHECK(!swapped({DataType::kE4M3, DataType::kE4M3, DataType::kF16, "tt", Numerics::kFast},
                 {512, 2112, 7168}, 64, 128));
}

TEST_CASE("wgmma has one epilogue stage where that makes room for a stage that copies need") {
  using Stages = std::set<std::pair<int, int>>;  // of A and B, of D
  const auto stages = [](const Problem& problem, int block_m, int block_n, int ping_pong) {
    Stages found;
    for (const Config& config : wgmma_candidates_for(problem)) {
      if (config.at("block_m") == block_m && config.at("block_n") == block_n &&
          config.at("ping_pong") == ping_pong && config.at("swap_ab") == 0) {
        found.insert({config.at("stages"), config.at("epilogue_stages")});
      }
    }
    return found;
  };
  const Problem problem = padded({.layout = "nt"}, {4096, 4096, 4096});
  CHECK(stages(problem, 192, 192, 0) == Stages{{4, 1}});
  CHECK(stages(problem, 128, 192, 1) == Stages{{4, 2}, {5, 1}});
  CHECK(stages(problem, 128, 144, 1) == Stages{{5, 2}});  // early enough
  CHECK(stages(problem, 256, 128, 0) == Stages{{4, 2}});  // no room for a stage
  const Problem of_short_k = padded({.layout = "nt"}, {4096, 4096, 512});
  CHECK(stages(of_short_k, 192, 192, 0) == Stages{{4, 1}});  // 8 tiles: more than two waves of 3
  CHECK(stages(of_short_k, 128, 192, 1) == Stages{{4, 2}});
  Problem by_threads = problem;
  by_threads.activation = Activation::kGeluErf;
  CHECK(stages(by_threads, 192, 192, 0) == Stages{{3, 2}});
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

TEST_CASE("wgmma gives neighbouring tiles to one GPC where blocks have enough to multiply") {
  // Of tiles in clusters of 2 x 1: group_m and raster_along_n of the GPC-aware ones.
  const auto orders = [](const Size& size, int block_n) {
    std::set<std::pair<int, int>> found;
    for (const Config& config : wgmma_candidates_for(padded({}, size))) {
      if (config.at("gpc_aware") == 1 && config.at("split_k") == 1 && config.at("block_m") == 128 &&
          config.at("block_n") == block_n && config.at("cluster_m") == 2 &&
          config.at("cluster_n") == 1 && config.at("swap_ab") == 0) {
        found.emplace(config.at("group_m"), config.at("raster_along_n"));
      }
    }
    return found;
  };
  using Orders = std::set<std::pair<int, int>>;
  CHECK(orders({1024, 1024, 1024}, 128).empty());  // 16 tiles along K
  // One round: a GPC's 8 clusters compute 512 x 512, 256 x 512 or 512 x 1024 of D.
  CHECK(orders({512, 4096, 4096}, 128) == Orders{{2, 0}});
  CHECK(orders({1024, 1024, 4096}, 64) == Orders{{1, 0}});
  CHECK(orders({2048, 2048, 4096}, 256) == Orders{{2, 0}});
  CHECK(orders({2048, 4096, 7168}, 256) == Orders{{8, 0}, {8, 1}});
  CHECK(orders({4096, 4096, 4096}, 128) == Orders{{8, 0}, {8, 1}, {16, 0}, {16, 1}});
}

TEST_CASE("wgmma keeps in the L2 cache what is read again where not all has room there") {
  // evict_first, of tiles by rows, which B passes, or by columns, which A does.
  const auto hints = [](const Size& size, int along_n, int swap_ab) {
    std::set<int> found;
    for (const Config& config : wgmma_candidates_for(padded({}, size))) {
      if (config.at("raster_along_n") == along_n && config.at("swap_ab") == swap_ab) {
        found.insert(config.at("evict_first"));
      }
    }
    return found;
  };
  CHECK(hints({4096, 28672, 4096}, 0, 0).count(1) == 1);
  CHECK(hints({4096, 28672, 4096}, 1, 1).count(1) == 1);
  CHECK(hints({28672, 4096, 4096}, 1, 0).count(1) == 1);
  CHECK(hints({28672, 4096, 4096}, 0, 1).count(1) == 1);
  CHECK(hints({28672, 4096, 2048}, 0, 0) == std::set{0});  // what passes has room
  CHECK(hints({4096, 28672, 2048}, 0, 1) == std::set{0});
  CHECK(hints({4096, 28672, 2048}, 1, 0) == std::set{0});
  CHECK(hints({512, 65536, 2048}, 0, 0).count(1) == 0);    // A is small, and read all the time
  CHECK(hints({8192, 8192, 65536}, 0, 0) == std::set{0});  // not even a group has room
  CHECK(hints({1024, 8192, 4096}, 0, 0) == std::set{0});   // D has
  CHECK(hints({512, 512, 65536}, 0, 0).count(1) == 0);     // one round: nothing is read again

  // 4 x 8 clusters of tiles are less than a round, so that A, and not B, is read again.
  int found = 0;
  for (const Config& config : wgmma_candidates_for(padded({}, {2048, 16384, 8192}))) {
    if (config.at("block_m") == 256 && config.at("cluster_m") == 2 &&
        config.at("raster_along_n") == 1 && config.at("group_m") == 8 &&
        config.at("swap_ab") == 0) {
      ++found;
      CHECK(config.at("evict_first") == 0);
    }
  }
  CHECK(found > 0);
}

TEST_CASE("wgmma streams the large operand of a D of few rows, in any number of waves") {
  const auto configs = [](const Size& size) {
    return wgmma_candidates_for(padded({.layout = "nt"}, size));
  };
  bool has_narrow_tiles = false;
  for (const Config& config : configs({1, 128256, 4096})) {
    const bool narrow = config.at("swap_ab") == 1 && config.at("block_n") == 16;
    has_narrow_tiles = has_narrow_tiles || narrow;
    // A CTA or a cluster reads its own rows of the large one, which is A where tiles are transposed.
    CHECK(config.at("raster_along_n") == config.at("swap_ab"));
    CHECK(config.at("evict_first") == 2);
    CHECK(config.at("gpc_aware") == 0);
  }
  CHECK(has_narrow_tiles);
  for (const Config& config : configs({16, 4096, 1024})) {
    CHECK(config.at("evict_first") == 0);  // all of it stays in the L2 cache
  }
}

TEST_CASE("wgmma has more brought early the longer a kernel waits and the more it pays") {
  const auto prefetches = [](const Size& size, std::string_view layout = "nn") {
    std::set<int> found;
    for (const Config& config : wgmma_candidates_for(padded({.layout = layout}, size))) {
      if (config.at("block_m") == 128 && config.at("block_n") == 128) {
        found.insert(config.at("prefetch"));
      }
    }
    return found;
  };
  CHECK(prefetches({640, 640, 640}).count(8) == 1);
  CHECK(prefetches({1408, 1408, 1408}) == std::set{2});
  CHECK(prefetches({1400, 1400, 1400}, "nt").count(16) == 1);  // rows begin anywhere in a line
  CHECK(prefetches({128, 65536, 1024}) == std::set{0});        // too many columns to bring some of
  const std::vector<Config> of_batch =
      wgmma_candidates_for(batched(padded({}, {640, 640, 640}), 4));
  REQUIRE(!of_batch.empty());
  for (const Config& config : of_batch) {
    CHECK(config.at("prefetch") == 0);
  }
}
