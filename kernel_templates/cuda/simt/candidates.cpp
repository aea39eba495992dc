#include <algorithm>
#include <span>

#include "kernel_templates/cuda/simt/simt.h"

namespace tunedgemm::internal {
namespace {

/// The tiles of a CTA, a warp and a thread.
struct TileShape {
  int block_m, block_n, warp_m, warp_n, thread_m, thread_n;
};

// The tiles of a search: kTiles for 4-byte accumulators, kTilesF64 for f64. The largest tile of f64
// has half as many elements.
constexpr TileShape kTiles[] = {
    {256, 128, 64, 64, 16, 8}, {128, 256, 64, 64, 16, 8}, {128, 128, 64, 64, 16, 8},
    {128, 128, 32, 64, 8, 8},  {128, 128, 64, 32, 8, 8},  {256, 64, 64, 64, 16, 8},
    {64, 256, 64, 64, 16, 8},  {128, 64, 32, 64, 8, 8},   {64, 128, 64, 32, 8, 8},
    {64, 64, 32, 32, 8, 4},    {128, 32, 32, 32, 8, 4},   {32, 128, 32, 32, 4, 8},
    {64, 32, 32, 32, 8, 4},    {32, 64, 32, 32, 4, 8},    {32, 32, 16, 32, 4, 4},
};
constexpr TileShape kTilesF64[] = {
    {128, 128, 32, 64, 8, 8}, {128, 128, 64, 32, 8, 8}, {128, 64, 32, 64, 8, 8},
    {128, 64, 32, 32, 8, 4},  {64, 128, 32, 32, 4, 8},  {64, 64, 32, 32, 8, 4},
    {128, 32, 32, 32, 8, 4},  {32, 128, 32, 32, 4, 8},  {64, 32, 32, 32, 8, 4},
    {32, 64, 32, 32, 4, 8},   {32, 32, 16, 32, 4, 4},   {32, 32, 16, 16, 4, 2},
};

struct Pipeline {
  int block_k, async_copy, stages;
};
constexpr Pipeline kPipelines[] = {{8, 0, 2}, {16, 0, 2}, {8, 1, 4}, {16, 1, 3}, {32, 1, 3}};

/// Split-K makes at most this many CTAs per SM, whether they run concurrently or in sequence.
constexpr int kMostBlocksOnSm = 4;
/// The fewest k tiles of a split-K slice: shorter slices are not worth a CTA.
constexpr std::int64_t kLeastKTilesOfSlice = 4;

/// The numbers of split-K slices worth trying, up to `most`: a few powers of two, and the numbers
/// whose CTAs fill every SM a whole number of times.
std::vector<int> splits(std::int64_t tiles, std::int64_t most, const DeviceLimits& limits) {
  const std::int64_t fill = limits.sm_count / std::max<std::int64_t>(tiles, 1);
  std::vector<int> counts{1};
  const auto add = [&](std::int64_t slices) {
    slices = std::min<std::int64_t>({slices, most, simt::kMostSplitK});
    if (slices > counts.back()) {
      counts.push_back(static_cast<int>(slices));
    }
  };
  for (int slices = 2; slices < fill; slices *= 2) {
    add(slices);
  }
  for (int blocks_on_sm = 1; blocks_on_sm <= kMostBlocksOnSm; ++blocks_on_sm) {
    add(static_cast<std::int64_t>(blocks_on_sm) * limits.sm_count /
        std::max<std::int64_t>(tiles, 1));
  }
  return counts;
}

/// Whether the config may be the fastest in the search.
bool worth_trying(const Problem& problem, const Config& config, const DeviceLimits& limits) {
  const SimtShape shape(problem, config);
  const Tiling blocks = shape.tiles(problem);
  const std::int64_t count = blocks.blocks().value_or(kMaxGridX);
  const bool one_wave = count <= 2 * limits.sm_count;
  if (config.at("group_m") == 1 ? one_wave : blocks.tiles_m == 1 && !one_wave) {
    return false;  // all tiles run at once, or only one order exists
  }
  return shape.block_k < 32 || shape.block_m * shape.block_n <= 64 * 64;
}

}  // namespace

std::vector<Config> simt_candidates(const Problem& problem, const DeviceLimits& limits) {
  const bool f64 = problem.a.type == DataType::kF64;
  std::vector<Config> chosen;
  for (const TileShape& tile : f64 ? std::span<const TileShape>(kTilesF64) : kTiles) {
    // At least half of the tile would be outside D, and a smaller tile exists.
    if ((tile.block_m > 32 && tile.block_m >= 2 * problem.m) ||
        (tile.block_n > 32 && tile.block_n >= 2 * problem.n)) {
      continue;
    }
    const Tiling tiles = tiling(problem, tile.block_m, tile.block_n, 1);
    for (const Pipeline& pipeline : kPipelines) {
      const std::int64_t k_tiles = ceil_divide(problem.k, pipeline.block_k);
      const std::vector<int> all_splits =
          splits(tiles.blocks().value_or(kMaxGridX), k_tiles / kLeastKTilesOfSlice, limits);
      for (const int group_m : {8, 1}) {
        for (const int split_k : all_splits) {
          Config config({{"block_m", tile.block_m},
                         {"block_n", tile.block_n},
                         {"block_k", pipeline.block_k},
                         {"warp_m", tile.warp_m},
                         {"warp_n", tile.warp_n},
                         {"thread_m", tile.thread_m},
                         {"thread_n", tile.thread_n},
                         {"stages", pipeline.stages},
                         {"async_copy", pipeline.async_copy},
                         {"group_m", group_m},
                         {"split_k", split_k}});
          if (worth_trying(problem, config, limits)) {
            chosen.push_back(std::move(config));
          }
        }
      }
    }
  }
  return chosen;
}

}  // namespace tunedgemm::internal
