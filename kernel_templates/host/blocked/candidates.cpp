#include <algorithm>
#include <array>
#include <span>

#include "kernel_templates/host/blocked/blocked.h"

namespace tunedgemm::internal {
namespace {

struct Tile {
  int m, vectors;
};
struct Split {
  int m, n;
};

// Tiles worth trying: many accumulators for few loads, and flat tiles for problems with few rows.
// Vectors of half the width are tried only for narrower tiles, which may fit the problem better.
constexpr std::array<Tile, 12> kTiles{{{12, 2},
                                       {14, 2},
                                       {8, 3},
                                       {6, 4},
                                       {5, 5},
                                       {16, 1},
                                       {12, 1},
                                       {8, 2},
                                       {4, 6},
                                       {4, 4},
                                       {2, 8},
                                       {1, 8}}};
constexpr std::array<Tile, 3> kHalfWidthTiles{{{6, 4}, {8, 3}, {8, 2}}};
constexpr std::array<Tile, 7> kTilesOf16Registers{
    {{6, 2}, {4, 3}, {12, 1}, {8, 1}, {3, 4}, {2, 4}, {1, 6}}};

constexpr std::size_t kSplitsTried = 3;

// The splits worth trying: few threads without a part, and few rows plus columns for a thread to
// pack.
std::vector<Split> splits(const Problem& problem, int threads) {
  std::vector<Split> splits;
  for (const int split_m : kBlockedSplits) {
    if (split_m > threads) {
      break;
    }
    const auto beyond =
        std::upper_bound(kBlockedSplits.begin(), kBlockedSplits.end(), threads / split_m);
    splits.push_back({split_m, *std::prev(beyond)});
  }
  const auto unused_and_packed = [&](Split split) {
    const double packed =
        static_cast<double>(problem.m) / split.m + static_cast<double>(problem.n) / split.n;
    return packed * threads / (split.m * split.n);
  };
  std::stable_sort(splits.begin(), splits.end(), [&](Split left, Split right) {
    return unused_and_packed(left) < unused_and_packed(right);
  });
  splits.resize(std::min(splits.size(), kSplitsTried));
  if (threads > 1) {
    splits.push_back({1, 1});  // for large batches, and problems too small to wake threads
  }
  return splits;
}

// The blocks worth trying. Blocks larger than K or the rows of a part require are left out.
std::vector<Config> block_configs(const Problem& problem, Split split) {
  std::vector<Config> configs;
  for (const int block_m : {256, 1024}) {
    for (const int block_k : {128, 256, 384, 512}) {
      for (const int prefetch : {0, 8}) {
        const bool rows_fit = block_m > 256 && problem.m / split.m <= 256;
        const bool depth_fits = block_k > 128 && problem.k <= block_k - 128;
        const bool nothing_to_prefetch = prefetch > 0 && problem.b.order == Order::kColumnMajor;
        if (!rows_fit && !depth_fits && !nothing_to_prefetch) {
          configs.push_back(Config({{"block_m", block_m},
                                    {"block_n", 4096},
                                    {"block_k", block_k},
                                    {"split_m", split.m},
                                    {"split_n", split.n},
                                    {"prefetch", prefetch}}));
        }
      }
    }
  }
  return configs;
}

}  // namespace

std::vector<Config> blocked_candidates(const Problem& problem, const DeviceLimits& limits) {
  const int widest = limits.simd_bits / 8;
  std::vector<std::pair<int, Tile>> tiles;  // with the bytes of a vector
  const auto add = [&](int vector_bytes, std::span<const Tile> some) {
    for (const Tile tile : some) {
      if (tile.m / 2 < problem.m) {  // otherwise more than half of the tile is padding
        tiles.emplace_back(vector_bytes, tile);
      }
    }
  };
  if (vector_registers(limits) == 32) {
    add(widest, kTiles);
    add(widest / 2, kHalfWidthTiles);
  } else {
    add(widest, kTilesOf16Registers);
  }

  std::vector<Config> chosen;
  for (const auto& [vector_bytes, tile] : tiles) {
    for (const Split split : splits(problem, limits.threads)) {
      for (const Config& blocks : block_configs(problem, split)) {
        Config config(
            {{"vector_bytes", vector_bytes}, {"tile_m", tile.m}, {"tile_n", tile.vectors}});
        for (const auto& [knob, value] : blocks.knobs()) {
          config.set(knob, value);
        }
        chosen.push_back(std::move(config));
      }
    }
  }
  return chosen;
}

}  // namespace tunedgemm::internal
