#include <algorithm>

#include "kernel_templates/cuda/mma/mma.h"

namespace tunedgemm::internal {
namespace {

constexpr std::array<TritonConfig, 16> kTritonTutorialConfigs{{
    {128, 256, 64, 3, 8},
    {64, 256, 32, 4, 4},
    {128, 128, 32, 4, 4},
    {128, 64, 32, 4, 4},
    {64, 128, 32, 4, 4},
    {128, 32, 32, 4, 4},
    {64, 32, 32, 5, 2},
    {32, 64, 32, 5, 2},
    {128, 256, 128, 3, 8},
    {256, 128, 128, 3, 8},
    {256, 64, 128, 4, 4},
    {64, 256, 128, 4, 4},
    {128, 128, 128, 4, 4},
    {128, 64, 64, 4, 4},
    {64, 128, 64, 4, 4},
    {128, 32, 64, 4, 4},
}};

/// The tiles of a CTA and a warp.
struct TileShape {
  int block_m, block_n, warp_m, warp_n;
};

// The tiles of a search: large ones reuse the most, and small ones fill the device.
constexpr TileShape kTiles[] = {
    {128, 256, 64, 64}, {256, 128, 64, 64}, {128, 128, 64, 64}, {128, 128, 64, 32},
    {128, 128, 32, 64}, {64, 256, 64, 64},  {256, 64, 64, 64},  {128, 64, 64, 32},
    {64, 128, 32, 64},  {128, 64, 32, 32},  {64, 128, 32, 32},  {64, 64, 32, 32},
    {128, 32, 32, 32},  {32, 128, 32, 32},  {64, 32, 32, 16},   {32, 64, 16, 32},
    {32, 32, 16, 16},   {16, 64, 16, 16},   {64, 16, 16, 16},   {16, 128, 16, 32},
    {128, 16, 32, 16},  {16, 256, 16, 64},  {256, 16, 64, 16},  {16, 32, 16, 16},
    {32, 16, 16, 16},
};

/// The bytes in a row of a k tile, and the number of k tiles in shared memory.
struct Pipeline {
  int row_bytes, stages;
};
constexpr Pipeline kPipelines[] = {{128, 3}, {128, 4}, {64, 4}, {64, 6},
                                   {64, 1},  {128, 1}, {256, 1}};

/// The fewest k tiles of a split-K slice: shorter slices are not worth a CTA.
constexpr std::int64_t kLeastKTilesOfSlice = 4;

Config make_config(const TileShape& tile, int block_k, int stages, int group_m, int split_k) {
  return Config({{"block_m", tile.block_m},
                 {"block_n", tile.block_n},
                 {"block_k", block_k},
                 {"warp_m", tile.warp_m},
                 {"warp_n", tile.warp_n},
                 {"stages", stages},
                 {"group_m", group_m},
                 {"split_k", split_k}});
}

/// Splits the tile among the warps by halving the longer side repeatedly.
Config from_triton(const TritonConfig& triton) {
  TileShape tile{triton.block_m, triton.block_n, triton.block_m, triton.block_n};
  for (int warps = triton.warps; warps > 1; warps /= 2) {
    (tile.warp_m >= tile.warp_n ? tile.warp_m : tile.warp_n) /= 2;
  }
  return make_config(tile, triton.block_k, triton.stages, 8, 1);
}

/// Whether the config may be the fastest in the search.
bool worth_trying(const Problem& problem, const Config& config, const DeviceLimits& limits) {
  const MmaShape shape(problem, config, limits);
  // At least half of the tile would be outside D, and a smaller tile exists.
  if ((shape.block_m > 16 && shape.block_m >= 2 * problem.m) ||
      (shape.block_n > 16 && shape.block_n >= 2 * problem.n)) {
    return false;
  }
  const Tiling tiles = shape.tiles(problem);
  const std::int64_t blocks = tiles.blocks().value_or(kMaxGridX);
  const bool one_wave = blocks <= 2 * limits.sm_count;
  const std::int64_t k_tiles = ceil_divide(problem.k, shape.block_k);
  if (shape.stages == 1) {  // K is a single k tile, and would be two of half its size
    return k_tiles == 1 && shape.split_k == 1 && (config.at("group_m") == 1) == one_wave &&
           (shape.steps() == 1 || 2 * problem.k > shape.block_k);
  }
  if (config.at("group_m") == 1 ? one_wave : tiles.tiles_m == 1 && !one_wave) {
    return false;  // all tiles run at once, or only one order exists
  }
  const bool small = shape.block_m * shape.block_n <= 64 * 64;
  if (shape.stages > 4 && !(small && one_wave && shape.split_k == 1)) {
    return false;  // other CTAs on the SM hide the same latency
  }
  if (shape.stages < 4 && shape.split_k > 1) {
    return false;  // the latency of the first k tile dominates a short slice
  }
  return shape.split_k == 1 || (one_wave && k_tiles / shape.split_k >= kLeastKTilesOfSlice);
}

}  // namespace

std::span<const TritonConfig> triton_tutorial_configs() {
  return kTritonTutorialConfigs;
}

std::vector<Config> mma_configs_of_triton_tutorial() {
  std::vector<Config> configs;
  configs.reserve(kTritonTutorialConfigs.size());
  for (const TritonConfig& triton : kTritonTutorialConfigs) {
    configs.push_back(from_triton(triton));
  }
  return configs;
}

std::vector<Config> mma_candidates(const Problem& problem, const DeviceLimits& limits) {
  std::vector<Config> chosen;
  const auto consider = [&](Config config) {
    if (std::find(chosen.begin(), chosen.end(), config) == chosen.end()) {
      chosen.push_back(std::move(config));
    }
  };
  for (const TileShape& tile : kTiles) {
    for (const Pipeline& pipeline : kPipelines) {
      const int block_k = pipeline.row_bytes / static_cast<int>(size_bytes(problem.a.type));
      for (const int group_m : {8, 1}) {
        for (const int split_k : kMmaSplits) {
          const Config config = make_config(tile, block_k, pipeline.stages, group_m, split_k);
          if (worth_trying(problem, config, limits)) {
            consider(config);
          }
        }
      }
    }
  }
  for (const TritonConfig& triton : triton_tutorial_configs()) {
    consider(from_triton(triton));
  }
  return chosen;
}

}  // namespace tunedgemm::internal
