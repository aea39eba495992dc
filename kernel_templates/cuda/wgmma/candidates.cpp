#include "kernel_templates/cuda/wgmma/wgmma.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "kernel_templates/geometry.h"

namespace tunedgemm::internal {
namespace {

/// Tiles along K below which a split-K slice is not worth a block.
constexpr std::int64_t kLeastTilesOfSlice = 4;
/// Tiles along K that are prefetched into the L2 cache: as a rule; where there is time for more,
/// because the operands have at most so many tiles of 128 bytes along K for each block; and where
/// rows are ragged.
constexpr int kPrefetched = 2, kPrefetchedInTime = 8, kPrefetchedOfRagged = 16;
constexpr std::int64_t kMostInTime = 8;
/// Waves of tiles from which on their rasterization is worth more trials: along N, in larger
/// groups.
constexpr int kSomeWaves = 3, kSomeWavesGpcAware = 2, kManyWaves = 4;
/// Tiles along K, one after the other, from which on GPC-aware rasterization may pay for claiming a
/// cluster id.
constexpr std::int64_t kTilesOfKGpcAware = 32;
/// Fractions of the L2 cache: it pays to make room for what a group keeps there if that is neither
/// so small that it stays by itself nor so large that it does not stay at all; and the streaming
/// operand must be so large that it would not stay.
constexpr double kLeastKept = 1.0 / 6, kMostKept = 1.0 / 3, kLeastStreaming = 1.0 / 2;
/// Blocks that a GPC runs at a time, about.
constexpr int kBlocksOfGpc = 16;
/// Rows and columns of a tile up to which two swizzle atoms along K at a time may be better than
/// one: there is room for enough stages. Where D has few rows or columns, the memory decides, which
/// likes longer runs.
constexpr int kSmallTile = 128, kSmallTileOfFewRows = 192;
constexpr std::int64_t kFewRows = 128;

/// Who computes a tile.
struct Schedule {
  int block_m, consumers, ping_pong;
};
constexpr Schedule kSchedules[] = {{128, 2, 0}, {256, 2, 0}, {128, 2, 1}, {64, 2, 1},
                                   {64, 1, 0},  {128, 1, 0}, {192, 3, 0}};

/// Blocks that share what they load.
struct Cluster {
  int m, n;
};
constexpr Cluster kClusters[] = {{2, 1}, {1, 2}, {1, 1}, {2, 2}, {4, 1}, {1, 4}};

/// A tile as a cluster computes it, which may be one of D's transpose.
struct TileChoice {
  Schedule schedule;
  int block_n;
  Cluster cluster;
  int atoms_of_k;  ///< block_k, in swizzle atoms of 128 bytes
  int epilogue_stages = 2;
  bool swap_ab = false;
};

/// Whether a tile may gain by being computed as its transpose.
bool gains_by_swapping(const Problem& problem, const TileChoice& choice) {
  // A D of few rows fills tiles whose short side is M.
  if (problem.m <= kFewRows) {
    return true;
  }
  const std::int64_t element_bytes = size_bytes(problem.a.type);
  const bool a_is_k_major = problem.a.order == Order::kRowMajor;
  const bool b_is_k_major = problem.b.order == Order::kColumnMajor;
  const bool is_square = problem.m == problem.n;
  // A tile of D that is higher than wide is one wide instruction of its transpose, in place of
  // several narrow ones.
  const bool is_wide = choice.block_n > choice.schedule.block_m;
  const bool transposes_nothing = element_bytes == 2 || (a_is_k_major && b_is_k_major);
  if (!is_square && is_wide && transposes_nothing) {
    return true;
  }
  // M can be cut anywhere where A is K-major, N only where B is, too; then a tile and its transpose
  // are the same for a square. An MN-major A of 32 bits need not be transposed in shared memory.
  const bool frees_width = choice.block_n % (wgmma::kSwizzleBytes / element_bytes) != 0;
  return a_is_k_major &&
         (b_is_k_major ? frees_width && !is_square : frees_width || element_bytes == 4);
}

/// Half of the tile or more would lie outside D, and there is a smaller one; or a whole block of
/// the cluster would.
bool is_too_large(const Problem& problem, const TileChoice& choice) {
  const int block_m = choice.schedule.block_m, block_n = choice.block_n;
  return (block_m > 64 && block_m >= 2 * problem.m) ||
         (block_n > wgmma::kLeastWidth && block_n >= 2 * problem.n) ||
         (choice.cluster.m - 1) * block_m >= problem.m ||
         (choice.cluster.n - 1) * block_n >= problem.n;
}

/// Columns that an SM computes one after the other with tiles of this width; without end
/// if there are no such tiles.
std::int64_t columns_in_sequence(const Problem& asked, const Problem& problem, WgmmaShape shape,
                                 int block_n, const DeviceLimits& limits) {
  shape.block_n = block_n;
  if (!why_not_wgmma(asked, shape).empty()) {
    return std::numeric_limits<std::int64_t>::max();
  }
  const std::int64_t work_tiles = shape.clusters(problem).blocks().value_or(kMaxGridX);
  return ceil_divide(work_tiles, shape.clusters_of_wave(limits)) * block_n;
}

/// Widths that are no multiple of 16 have a slower epilogue: they are tried where blocks end sooner
/// with them than with their neighbours, and where there are few waves. Of many, some other tile
/// wastes little, too.
bool has_good_width(const Problem& asked, const Problem& problem, const WgmmaShape& shape,
                    const DeviceLimits& limits) {
  constexpr int kFewWaves = 3;
  const int width = shape.block_n;
  if (width % 16 == 0) {
    return true;
  }
  const auto columns = [&](int block_n) {
    return columns_in_sequence(asked, problem, shape, block_n, limits);
  };
  const std::int64_t mine = columns(width);
  return mine <= kFewWaves * width && mine < columns(width - 8) && mine < columns(width + 8);
}

/// One epilogue stage less may make room for one more stage of A and B. That pays where copies are
/// begun too late and a split-K slice is long enough, and makes D leave a little later. The latency
/// of the cost model is the measure: well below it only one epilogue stage is tried, near it both,
/// otherwise two; and where threads store D.
bool has_good_stages(const WgmmaShape& shape, std::int64_t tiles_of_slice,
                     const DeviceLimits& limits) {
  constexpr double kWellBelow = 1300, kNear = 1600;  // cycles ahead
  WgmmaShape with_two = shape, with_one = shape;
  with_two.epilogue_stages = 2;
  with_one.epilogue_stages = 1;
  with_two.stages = stages_that_fit(with_two, wgmma::kMostStages, limits);
  const bool makes_room = stages_that_fit(with_one, wgmma::kMostStages, limits) > with_two.stages;
  if (!shape.tensor_store || !makes_room || tiles_of_slice <= 2 * with_two.stages) {
    return shape.epilogue_stages == 2;
  }
  const double ahead = cycles_ahead(with_two);
  return shape.epilogue_stages == 2 ? ahead >= kWellBelow : ahead < kNear;
}

/// How many tiles along K should be prefetched. They wait in the cache, at the expense of what the
/// kernel before still needs: two tiles hide the memory's latency. More pay where so few blocks run
/// that the next kernel's find room beside them long before it may begin, and where rows begin
/// anywhere in a line of the cache, so that every copy touches more of them.
int prefetched(const Problem& problem, const WgmmaShape& shape, const DeviceLimits& limits) {
  const std::int64_t blocks = shape.grid(problem, limits);
  const std::int64_t tiles =
      ceil_divide(problem.m, shape.block_m) + ceil_divide(problem.n, shape.block_n);
  const std::int64_t lines = ceil_divide(problem.k * shape.element_bytes, wgmma::kSwizzleBytes);
  // Only the first entry of a batch is prefetched; and a block should not prefetch many tiles.
  if (problem.batch > 1 || tiles * shape.split_k > blocks) {
    return 0;
  }
  if (2 * blocks <= limits.sm_count && tiles * lines <= kMostInTime * blocks) {
    return kPrefetchedInTime;
  }
  const auto begins_in_a_line = [](const Matrix& matrix) {
    return matrix.leading_dimension * size_bytes(matrix.type) % wgmma::kSwizzleBytes != 0;
  };
  const bool is_ragged = begins_in_a_line(problem.a) || begins_in_a_line(problem.b);
  return is_ragged && tiles <= blocks / 4 ? kPrefetchedOfRagged : kPrefetched;
}

/// Whether one row or column of clusters computes D: each reads its own part of the operand along
/// it, which no other one reads.
bool streams_alone(const Tiling& clusters) {
  return clusters.tiles_m == 1 || clusters.tiles_n == 1;
}

/// What should be evicted from the L2 cache first, as the knob evict_first says it. An operand that
/// is read once and would not stay there anyway (2). D, and the operand that streams past a group
/// (1), where the group's part of the other operand is read in several waves, and there is room for
/// it if they make some, but none for them, so that D would not stay there for who reads it next.
int evicts_first(const Problem& problem, const WgmmaShape& shape, const DeviceLimits& limits) {
  const Tiling clusters = shape.clusters(problem);
  std::int64_t along = clusters.tiles_m, across = clusters.tiles_n, streaming_rows = problem.n;
  int rows_of_cluster = shape.cluster_m * shape.block_m;
  if (shape.raster_along_n) {
    std::swap(along, across);
    streaming_rows = problem.m;
    rows_of_cluster = shape.cluster_n * shape.block_n;
  }
  const std::int64_t group = std::min<std::int64_t>(shape.group_m, along);
  const auto part_of_cache = [&](std::int64_t rows, std::int64_t length, int element_bytes) {
    return static_cast<double>(rows * length * element_bytes) /
           static_cast<double>(limits.l2_bytes);
  };
  const double kept = part_of_cache(group * rows_of_cluster, problem.k, shape.element_bytes);
  const double streaming = part_of_cache(streaming_rows, problem.k, shape.element_bytes);
  const double d = part_of_cache(problem.m, problem.n, shape.element_bytes_d);
  if (along == 1 && problem.regime == Regime::kCold && streaming >= kLeastStreaming) {
    return 2;
  }
  const bool makes_room = shape.tensor_store && group * across > shape.clusters_of_wave(limits) &&
                          kept >= kLeastKept && kept <= kMostKept &&
                          std::min(streaming, d) >= kLeastStreaming;
  return makes_room ? 1 : 0;
}

/// Rows of clusters that make the tiles of a GPC nearly a square, which has the least to load.
int group_of_gpc(const WgmmaShape& shape) {
  const int rows = shape.block_m * shape.cluster_m, columns = shape.block_n * shape.cluster_n;
  int group = 1;
  while (4 * group * group * rows * shape.cluster_size() <= kBlocksOfGpc * columns) {
    group *= 2;
  }
  return group;
}

Config make_config(const Problem& problem, const TileChoice& choice, const DeviceLimits& limits) {
  const auto& [schedule, block_n, cluster, atoms_of_k, epilogue_stages, swap_ab] = choice;
  const bool promotes = problem.numerics == Numerics::kPromoted;
  const bool tensor_store =
      problem.d.alignment_bytes == 16 &&
      (swap_ab ? problem.m : problem.n) * size_bytes(problem.d.type) % 16 == 0 &&
      !traits(problem.activation).is_long;
  Config config({{"block_m", schedule.block_m},
                 {"block_n", block_n},
                 {"block_k",
                  atoms_of_k * wgmma::kSwizzleBytes / static_cast<int>(size_bytes(problem.a.type))},
                 {"stages", 2},
                 {"epilogue_stages", epilogue_stages},
                 {"consumers", schedule.consumers},
                 {"ping_pong", schedule.ping_pong},
                 {"cluster_m", cluster.m},
                 {"cluster_n", cluster.n},
                 {"group_m", 8},
                 {"raster_along_n", 0},
                 {"gpc_aware", 0},
                 {"evict_first", 0},
                 {"split_k", 1},
                 {"in_flight", promotes ? 0 : 1},
                 {"tensor_store", tensor_store ? 1 : 0},
                 {"programmatic", 1},
                 {"swap_ab", swap_ab ? 1 : 0},
                 {"prefetch", 0}});
  config.set("stages",
             std::max(2, stages_that_fit(WgmmaShape(problem, config), wgmma::kMostStages, limits)));
  return config;
}

// Grows the choice, a tile at a time.
class Choosing {
 public:
  Choosing(const Problem& problem, const DeviceLimits& limits) : asked_(problem), limits_(limits) {}

  /// Adds this tile and its transpose, with one and with two epilogue stages, as far as each may
  /// pay.
  void consider_variants(TileChoice choice) {
    for (const int epilogue_stages : {2, 1}) {
      choice.epilogue_stages = epilogue_stages;
      choice.swap_ab = false;
      consider(choice);
      choice.swap_ab = true;
      if (gains_by_swapping(asked_, choice)) {
        consider(choice);
      }
    }
  }

  std::vector<Config> take() { return std::move(chosen_); }

 private:
  /// Adds this tile with the rasterizations and the split-K that may be the best.
  void consider(const TileChoice& choice) {
    const Problem problem = padded(choice.swap_ab ? transposed(asked_) : asked_);
    if (is_too_large(problem, choice)) {
      return;
    }
    Config plain = make_config(problem, choice, limits_);
    const Tiling clusters = WgmmaShape(problem, plain).clusters(problem);
    if (clusters.tiles_n == 1 && clusters.tiles_m > 1) {
      plain.set("raster_along_n", 1);  // the same order; A is what streams
    }
    WgmmaShape shape(problem, plain);
    const std::int64_t tiles = clusters.blocks().value_or(kMaxGridX);
    const std::int64_t of_wave = shape.clusters_of_wave(limits_);
    const std::int64_t tiles_of_k = ceil_divide(problem.k, shape.block_k);
    for (int split_k = 1; split_k <= wgmma::kMostSplitK; ++split_k) {
      const std::int64_t work_tiles = tiles * split_k;
      const std::int64_t waves = ceil_divide(work_tiles, of_wave);
      const bool one_wave = waves <= 1;
      if (split_k > 1 && (!one_wave || tiles_of_k / split_k < kLeastTilesOfSlice)) {
        break;  // the slices would not run at the same time, or be too short
      }
      shape.split_k = split_k;
      if (!has_good_stages(shape, tiles_of_k / split_k, limits_) ||
          !has_good_width(asked_, problem, shape, limits_)) {
        continue;
      }
      if (one_wave ? shape.ping_pong  // the second consumer would have nothing to do
                   : shape.cluster_size() > 2 || (shape.block_n < 64 && clusters.tiles_n > 1)) {
        continue;  // large clusters leave SMs idle; larger tiles would do
      }
      Config config = plain;
      config.set("split_k", split_k);
      const bool pays =
          !streams_alone(clusters) && (split_k > 1 || waves * tiles_of_k >= kTilesOfKGpcAware);
      if (pays && !limits_.gpc_of_sm.empty()) {
        add(problem, config);  // in other rasterizations it was never the best
        config.set("gpc_aware", 1);
        if (one_wave) {
          config.set("group_m", group_of_gpc(shape));
        }
      }
      add(problem, config);
      add_rasterizations(problem, config, waves);
    }
  }

  /// Adds a config's other rasterizations: along N, in larger groups. One row or one column of
  /// clusters has one order only, and a group holds no more than there are.
  void add_rasterizations(const Problem& problem, const Config& config, std::int64_t waves) {
    const Tiling clusters = WgmmaShape(problem, config).clusters(problem);
    if (streams_alone(clusters)) {
      return;
    }
    const int some = config.at("gpc_aware") == 1 ? kSomeWavesGpcAware : kSomeWaves;
    for (const auto& [group_m, along_n] : {std::pair(8, 1), {16, 0}, {16, 1}}) {
      const std::int64_t along = along_n == 1 ? clusters.tiles_n : clusters.tiles_m;
      if (group_m == 8 ? waves >= some : waves >= kManyWaves && along > 8) {
        Config other = config;
        add(problem, std::move(other.set("group_m", group_m).set("raster_along_n", along_n)));
      }
    }
  }

  void add(const Problem& problem, Config config) {
    const WgmmaShape shape(problem, config);
    if (why_not_wgmma(asked_, shape).empty()) {
      // Copies of operands are not there before the kernel may read its inputs.
      config.set("prefetch", needs_padding(asked_) ? 0 : prefetched(problem, shape, limits_));
      config.set("evict_first", evicts_first(problem, shape, limits_));
      chosen_.push_back(std::move(config));
    }
  }

  const Problem& asked_;
  const DeviceLimits& limits_;
  std::vector<Config> chosen_;
};

}  // namespace

std::vector<Config> wgmma_candidates(const Problem& problem, const DeviceLimits& limits) {
  Choosing choosing(problem, limits);
  const bool promotes = problem.numerics == Numerics::kPromoted;  // every 128 of K
  const int small_tile =
      std::min(problem.m, problem.n) <= kFewRows ? kSmallTileOfFewRows : kSmallTile;
  for (const Schedule& schedule : kSchedules) {
    for (int block_n = wgmma::kLeastWidth; block_n <= wgmma::kMostWidth;
         block_n += wgmma::kWidthStep) {
      for (const Cluster& cluster : kClusters) {
        for (const int atoms_of_k : {1, 2}) {
          if (atoms_of_k == 2 && (promotes || schedule.block_m + block_n > small_tile)) {
            break;
          }
          choosing.consider_variants({schedule, block_n, cluster, atoms_of_k});
        }
      }
    }
  }
  return choosing.take();
}

}  // namespace tunedgemm::internal
