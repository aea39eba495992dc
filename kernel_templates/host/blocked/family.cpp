#include <algorithm>
#include <array>

#include "kernel_templates/geometry.h"
#include "kernel_templates/host/families.h"
#include "kernel_templates/host/host_family.h"

namespace tunedgemm {
namespace {

struct Tile {
  int m, vectors;
};
struct Split {
  int m, n;
};

// What is worth trying: many sums for few loads, and flat tiles for problems with few rows. In
// vectors of half the width, only tiles whose finer grain may fit the problem better.
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

// The factors of the usual numbers of threads.
const std::vector<int> kSplits{1,  2,  3,  4,  5,  6,  7,  8,  10, 12, 14,  16,
                               20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128};
constexpr std::size_t kSplitsTried = 3;

// The ways to give every thread a part, those first whose parts have the least rows and columns
// together: that is what each thread packs.
std::vector<Split> splits(const Problem& problem, int threads) {
  std::vector<Split> found;
  for (const int split_m : kSplits) {
    if (split_m > threads) {
      break;
    }
    const auto beyond = std::upper_bound(kSplits.begin(), kSplits.end(), threads / split_m);
    found.push_back({split_m, *std::prev(beyond)});
  }
  const auto unused_and_packed = [&](Split split) {
    const double packed =
        static_cast<double>(problem.m) / split.m + static_cast<double>(problem.n) / split.n;
    return packed * threads / (split.m * split.n);
  };
  std::stable_sort(found.begin(), found.end(), [&](Split left, Split right) {
    return unused_and_packed(left) < unused_and_packed(right);
  });
  found.resize(std::min(found.size(), kSplitsTried));
  if (threads > 1) {
    found.push_back({1, 1});  // whole batch entries, or too little to wake anybody
  }
  return found;
}

int vector_registers(const DeviceLimits& limits) {
  return limits.simd_bits >= 512 ? 32 : 16;
}

// The blocks that differ for this problem: one that holds all of K, or all rows of a part, is not
// tried in larger sizes.
std::vector<Config> block_configs(const Problem& problem, Split split) {
  std::vector<Config> configs;
  for (const int block_m : {256, 1024}) {
    for (const int block_k : {128, 256, 384, 512}) {
      for (const int prefetch : {0, 8}) {
        const bool rows_fit = block_m > 256 && problem.m / split.m <= 256;
        const bool depth_fits = block_k > 128 && problem.k <= block_k - 128;
        const bool nothing_to_fetch = prefetch > 0 && problem.b.order == Order::kColumnMajor;
        if (!rows_fit && !depth_fits && !nothing_to_fetch) {
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

// The numbers of sections 2 and 4 of the kernel.
struct Geometry {
  Geometry(const Problem& problem, const Config& config)
      : element_bytes(size_bytes(accumulator(problem.a.type, problem.b.type))),
        lanes(config.at("vector_bytes") / element_bytes),
        tile_m(config.at("tile_m")),
        vectors(config.at("tile_n")),
        tile_n(vectors * lanes),
        block_k(config.at("block_k")),
        tiles_m(config.at("block_m") / tile_m),
        tiles_n(config.at("block_n") / tile_n),
        split_m(config.at("split_m")),
        split_n(config.at("split_n")) {}

  std::int64_t scratch_bytes() const {
    const std::int64_t packed_a = round_up(tiles_m * tile_m * block_k + lanes, 64);
    const std::int64_t packed_b = round_up(tile_n * block_k + lanes, 64);
    const std::int64_t partial = tiles_m * tile_m * tiles_n * tile_n;
    return (packed_a + packed_b + partial) * element_bytes;
  }

  std::int64_t element_bytes, lanes, tile_m, vectors, tile_n, block_k;
  std::int64_t tiles_m, tiles_n;  // of a block
  std::int64_t split_m, split_n;
};

class Blocked final : public HostFamily {
 public:
  Blocked()
      : HostFamily("blocked", "host/blocked/kernel.cc",
                   {{"vector_bytes", {16, 32, 64}, "of one SIMD register"},
                    {"tile_m", {1, 2, 3, 4, 5, 6, 8, 12, 14, 16}, "rows of a register tile"},
                    {"tile_n", {1, 2, 3, 4, 5, 6, 8}, "vectors of a register tile"},
                    {"block_m", {128, 256, 512, 1024}, "rows of a packed block of A", Knob::kTile},
                    {"block_n", {1024, 4096}, "columns of a block of sums", Knob::kTile},
                    {"block_k", {128, 256, 384, 512}, "depth of a packed block", Knob::kTile},
                    {"split_m", kSplits, "parts of D, from top to bottom"},
                    {"split_n", kSplits, "parts of D, from left to right"},
                    {"prefetch", {0, 8}, "rows of B fetched ahead, and a panel"}}) {}

  Instantiation instantiate(const Problem& problem, const Config& config,
                            const DeviceLimits& limits) const override;

 protected:
  std::vector<Config> search_space(const Problem& problem,
                                   const DeviceLimits& limits) const override;
};

std::string why_not_geometry(const Geometry& geometry, const Config& config,
                             const DeviceLimits& limits) {
  const int vector_bits = 8 * config.at("vector_bytes");
  if (vector_bits > limits.simd_bits) {
    return "vector_bytes=" + std::to_string(vector_bits / 8) + " is more than the " +
           std::to_string(limits.simd_bits / 8) + " bytes of this CPU's registers";
  }
  const std::int64_t registers = 1 + geometry.vectors + geometry.tile_m * geometry.vectors;
  if (registers > vector_registers(limits)) {
    return "tile_m and tile_n need " + std::to_string(registers) +
           " vector registers, and this CPU has " + std::to_string(vector_registers(limits));
  }
  if (geometry.split_m * geometry.split_n > std::max(limits.threads, 1)) {
    return "split_m * split_n = " + std::to_string(geometry.split_m * geometry.split_n) +
           " is more than the " + std::to_string(limits.threads) + " threads";
  }
  return "";
}

std::vector<Config> Blocked::search_space(const Problem& problem,
                                          const DeviceLimits& limits) const {
  const int widest = limits.simd_bits / 8;
  std::vector<std::pair<int, Tile>> tiles;  // with the bytes of a vector
  const auto add = [&](int vector_bytes, std::span<const Tile> some) {
    for (const Tile tile : some) {
      if (tile.m / 2 < problem.m) {  // else more than half of the tile would be padding
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

// Cycles to widen an element while it is packed (AMD EPYC, 2026-11, as all numbers below).
double widening_cycles(DataType type) {
  return is_fp8(type) ? 2.0 : size_bytes(type) < 4 ? 1.2 : 0.0;
}

// Cycles to pack an element of A or B, `line` elements of which lie in one line of memory. Beyond
// the second-level cache every line has a price, and so has every byte.
double packing_cycles(const Matrix& matrix, bool straight, double line, double matrix_bytes,
                      const DeviceLimits& limits) {
  const bool is_far = matrix_bytes > static_cast<double>(limits.l2_bytes);
  const double far = is_far ? 14 / line + 0.25 * static_cast<double>(size_bytes(matrix.type)) : 0;
  return (straight ? 0.1 : 0.35) + widening_cycles(matrix.type) + far;
}

// Cycles of one step of k in a tile: two FMA units of 256 bits or one of 512, two loads a cycle,
// and additions that take four cycles before the next one may start. A panel of B that does not
// fit into the first-level cache comes at 29 bytes a cycle; where it and a tile of A do not fit
// together, all goes slower (Xeon, 2 threads, 2026-11-21, 1024^3 in f32: by 4 to 8 % in all tiles).
double step_cycles(const Geometry& geometry, const Problem& problem, const Config& config,
                   const DeviceLimits& limits) {
  const double wide = config.at("vector_bytes") == 64 ? 1.0 : 0.5;
  const auto tile_m = static_cast<double>(geometry.tile_m);
  const auto vectors = static_cast<double>(geometry.vectors);
  const double integers = problem.a.type == DataType::kS8 ? 1.25 : 1;
  const double multiply = tile_m * vectors * wide * integers;
  const double loads = tile_m * 0.5 + vectors * wide;
  const std::int64_t panel_bytes =
      geometry.tile_n * geometry.element_bytes * std::min(geometry.block_k, problem.k);
  const double stream = panel_bytes > limits.l1_bytes ? vectors * 2.2 * wide : 0;
  const std::int64_t tile_of_a_bytes =
      geometry.tile_m * geometry.element_bytes * std::min(geometry.block_k, problem.k);
  const double crowded = panel_bytes + tile_of_a_bytes > limits.l1_bytes ? 1.05 : 1.0;
  // Where 512 bits have two units, half of them are half as fast: they come behind what is equal.
  const double half = 8 * config.at("vector_bytes") < limits.simd_bits ? 1.05 : 1.0;
  return crowded * half * std::max({multiply, loads, stream, 4.0});
}

double blocked_us(const Problem& problem, const Config& config, const Geometry& geometry,
                  std::int64_t jobs, const DeviceLimits& limits) {
  const auto blocks = [](std::int64_t extent, std::int64_t block) {
    return static_cast<double>(ceil_divide(std::max<std::int64_t>(extent, 1), block));
  };
  const std::int64_t part_m =
      ceil_divide(ceil_divide(problem.m, geometry.tile_m), geometry.split_m);
  const std::int64_t part_n =
      ceil_divide(ceil_divide(problem.n, geometry.tile_n), geometry.split_n);
  const double blocks_m = blocks(part_m, geometry.tiles_m);
  const double blocks_n = blocks(part_n, geometry.tiles_n);
  const double blocks_k = blocks(problem.k, geometry.block_k);
  const auto depth = static_cast<double>(problem.k);
  const auto rows = static_cast<double>(part_m * geometry.tile_m);
  const auto columns = static_cast<double>(part_n * geometry.tile_n);

  const double bytes_a = rows * depth * static_cast<double>(size_bytes(problem.a.type));
  const double bytes_b = columns * depth * static_cast<double>(size_bytes(problem.b.type));
  const bool straight_a = problem.a.order == Order::kColumnMajor;
  const bool straight_b = problem.b.order == Order::kRowMajor;
  const double line_a = straight_a ? static_cast<double>(geometry.tile_m) : 16;
  const double line_b = straight_b ? static_cast<double>(geometry.tile_n) : 16;
  const double late = config.at("prefetch") > 0 || !straight_b ? 1.0 : 1.15;
  const double packing =
      depth *
      (rows * packing_cycles(problem.a, straight_a, line_a, bytes_a, limits) *
           (blocks_k > 1 ? blocks_n : 1) +
       columns * packing_cycles(problem.b, straight_b, line_b, bytes_b, limits) * blocks_m * late);

  const auto sums = static_cast<double>(geometry.tile_m * geometry.tile_n);
  const auto registers = static_cast<double>(geometry.tile_m * geometry.vectors);
  const double tile = depth * step_cycles(geometry, problem, config, limits) +
                      (blocks_k - 1) * registers * 4 + sums * epilogue_cycles(problem) +
                      30 * blocks_k;

  const double computing =
      host_us(jobs, static_cast<double>(part_m * part_n) * tile + packing, limits);
  // One thread alone does not draw all of the memory's bandwidth.
  const auto threads = static_cast<double>(launch_for(jobs, limits).grid[0]);
  const double drawn = std::min(1.0, threads / std::max(1, limits.threads / 2));
  return std::max(computing, host_memory_us(minimum_bytes(problem), limits) / drawn);
}

Instantiation Blocked::instantiate(const Problem& problem, const Config& config,
                                   const DeviceLimits& limits) const {
  if (std::string why = why_not_device(config, limits); !why.empty()) {
    return why;
  }
  const Geometry geometry(problem, config);
  if (std::string why = why_not_geometry(geometry, config, limits); !why.empty()) {
    return why;
  }
  const std::int64_t jobs = problem.batch * geometry.split_m * geometry.split_n;
  Instance instance = begin_instance(problem, config);
  instance.launch = launch_for(jobs, limits);
  instance.launch.shared_bytes = static_cast<std::uint32_t>(geometry.scratch_bytes());
  instance.predicted_us = blocked_us(problem, config, geometry, jobs, limits);
  return instance;
}

}  // namespace

const Family& blocked_family() {
  static const Blocked family;
  return family;
}

}  // namespace tunedgemm
