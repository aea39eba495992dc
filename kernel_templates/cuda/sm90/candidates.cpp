#include "kernel_templates/cuda/sm90/candidates.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "kernel_templates/cuda/sm90/cost.h"
#include "kernel_templates/cuda/sm90/wgmma_numbers.h"
#include "kernel_templates/geometry.h"

namespace tunedgemm {
namespace {

/// Tiles along K below which a part is not worth a block.
constexpr std::int64_t kLeastTilesOfPart = 4;
/// Tiles along K that are brought early: as a rule; where there is time for more, because the
/// operands have at most so many tiles of a line along K for each block; and where rows are ragged.
constexpr int kPrefetched = 2, kPrefetchedInTime = 8, kPrefetchedOfRagged = 16;
constexpr std::int64_t kMostInTime = 8;
/// Rounds of tiles from which on their order is worth more trials: by columns, in larger groups.
/// (H200, 2026-11-22, by rows and by columns: gpc_aware bf16 nt 2048 x 4096 x 7168 144.5, 142.1 us,
/// 4096^3 f16 175.9, 173.2; in groups of 8 and 16 bf16 nt 8192 x 4096 x 4096 331.7, 329.5.)
constexpr int kSomeRounds = 3, kSomeRoundsGpcAware = 2, kManyRounds = 4;
/// Tiles along K, one after the other, from which on neighbouring tiles of D may go to one GPC:
/// asking takes 0.35 us (H200, 2026-11-22: 1024^3 5.73 -> 6.07, 512 x 4096 x 4096 23.6 -> 23.4).
constexpr std::int64_t kTilesOfKGpcAware = 32;
/// Parts of the L2 cache: what a group keeps there pays to make room for if it is neither so small
/// that it stays by itself nor so large that it does not stay at all; and what walks past must be
/// so large that it would not stay. (H200, 2026-11-22, the same tile without and with evict_first:
/// bf16 nt 8192 x 28672 x 4096, 17 MB kept, 2289 -> 2262 us; 8192 x 4096 x 7168, 33 MB, 628.4 ->
/// 630.9; e4m3 nt 512 x 128256 x 4096, 2 MB, 313.7 -> 319.3; 4096 x 7168 x 2048, 8 MB past, 70.7
/// -> 72.6; bf16 nt 4096^3, 17 MB kept, 34 MB past, 165.1 -> 164.8.)
constexpr double kLeastKept = 1.0 / 6, kMostKept = 1.0 / 3, kLeastPassing = 1.0 / 2;
/// Blocks that a GPC runs at a time, about.
constexpr int kBlocksOfGpc = 16;
/// Rows and columns of a tile up to which two lines along K at a time may be better than one: there
/// is room for enough stages.
constexpr int kSmallTile = 128;

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

/// Tiles as blocks compute them, which may be those of D's transpose.
struct Shape {
  Schedule schedule;
  int block_n;
  Cluster cluster;
  int lines_of_k;  ///< block_k, in lines of 128 bytes
  int epilogue_stages = 2;
  bool swap_ab = false;
};

/// Whether a tile may gain by being computed as its transpose.
bool gains_by_swapping(const Problem& problem, const Shape& shape) {
  // A D of few rows fills tiles whose short side is M.
  constexpr std::int64_t kFewRows = 128;
  if (problem.m <= kFewRows) {
    return true;
  }
  const std::int64_t element_bytes = size_bytes(problem.a.type);
  const bool a_along_k = problem.a.order == Order::kRowMajor;
  const bool b_along_k = problem.b.order == Order::kColumnMajor;
  const bool is_square = problem.m == problem.n;
  // Lying on its side, what stands upright in D is one wide product in place of several narrow
  // ones.
  const bool lies_on_its_side = shape.block_n > shape.schedule.block_m;
  const bool turns_nothing = element_bytes == 2 || (a_along_k && b_along_k);
  if (!is_square && lies_on_its_side && turns_nothing) {
    return true;
  }
  // M can be cut anywhere where A's lines follow K, N only where B's do, too; then a tile and its
  // mirror image are the same for a square. 32 bits across K need not be turned in A.
  const bool frees_width = shape.block_n % (kWgmmaLineBytes / element_bytes) != 0;
  return a_along_k && (b_along_k ? frees_width && !is_square : frees_width || element_bytes == 4);
}

/// Half of the tile or more would lie outside D, and there is a smaller one; or a whole block of
/// the cluster would.
bool is_too_large(const Problem& problem, const Shape& shape) {
  const int block_m = shape.schedule.block_m, block_n = shape.block_n;
  return (block_m > 64 && block_m >= 2 * problem.m) ||
         (block_n > kLeastWgmmaWidth && block_n >= 2 * problem.n) ||
         (shape.cluster.m - 1) * block_m >= problem.m ||
         (shape.cluster.n - 1) * block_n >= problem.n;
}

/// Columns that a multiprocessor computes one after the other with tiles of this width; without end
/// if there are no such tiles.
std::int64_t columns_in_turn(const Problem& asked, const Problem& problem, WgmmaNumbers numbers,
                             int block_n, const DeviceLimits& limits) {
  numbers.block_n = block_n;
  if (!why_not_wgmma(asked, numbers).empty()) {
    return std::numeric_limits<std::int64_t>::max();
  }
  const std::int64_t works = numbers.clusters(problem).blocks().value_or(kMaxGridX);
  return ceil_divide(works, numbers.clusters_at_a_time(limits)) * block_n;
}

/// Widths that are no multiple of 16 have a slower end of a tile: they are tried where blocks end
/// sooner with them than with their neighbours, and where there are few rounds. Of many, some other
/// tile wastes little, too. (H200, 2026-11-22: 192 x 168, two rounds, bf16 nt 1152 x 7192 x 8184
/// 182.3 -> 176.9 us; seven, 4112 x 7048 x 2232 180.7 -> 182.4.)
bool has_good_width(const Problem& asked, const Problem& problem, const WgmmaNumbers& numbers,
                    const DeviceLimits& limits) {
  constexpr int kFewRounds = 3;
  const int width = numbers.block_n;
  if (width % 16 == 0) {
    return true;
  }
  const auto columns = [&](int block_n) {
    return columns_in_turn(asked, problem, numbers, block_n, limits);
  };
  const std::int64_t mine = columns(width);
  return mine <= kFewRounds * width && mine < columns(width - 8) && mine < columns(width + 8);
}

/// One place less to prepare D in may make room for one more tile of A and B. That pays where
/// copies are begun too late and a part of K is long enough, and makes D leave a little later. The
/// latency of the cost model, 1500 cycles, is the measure: well below it only one place is tried,
/// near it both, otherwise two; and where threads store D.
/// (H200, 2026-11-22: bf16 nt 3000^3, 192 x 192: 79.4 us with 3 stages, 73.5 with 4; f16 nn
/// 2176^3, 256 x 160: 32.1, 31.3; 128 x 192 by turns, 4 and 5: 3072^3 76.5, 76.9, and bf16 nt 512
/// x 24576 x 1536 52.7, 51.8.)
bool has_good_stages(const WgmmaNumbers& numbers, std::int64_t tiles_of_part,
                     const DeviceLimits& limits) {
  constexpr double kWellBelow = 1300, kNear = 1600;  // cycles ahead
  WgmmaNumbers with_two = numbers, with_one = numbers;
  with_two.epilogue_stages = 2;
  with_one.epilogue_stages = 1;
  with_two.stages = stages_that_fit(with_two, kMostWgmmaStages, limits);
  const bool makes_room = stages_that_fit(with_one, kMostWgmmaStages, limits) > with_two.stages;
  if (!numbers.tensor_store || !makes_room || tiles_of_part <= 2 * with_two.stages) {
    return numbers.epilogue_stages == 2;
  }
  const double ahead = cycles_ahead(with_two);
  return numbers.epilogue_stages == 2 ? ahead >= kWellBelow : ahead < kNear;
}

/// How many tiles along K should come early. What is brought early waits in the cache, at the
/// expense of what the kernel before still needs: two tiles hide the memory's latency. More pay
/// where so few blocks run that the next kernel's find room beside them long before their turn,
/// and where rows begin anywhere in a line of the cache, so that every copy touches more of them.
/// (H200, 2026-11-21, f16: 1536^3 11.97 -> 11.70 us with 2, 12.36 with 16; 640^3 3.54, 3.45 with
/// 2, 3.34 with 8; bf16 nt 2500 x 2048 x 1000 18.34, 17.90 with 2, 17.44 with 16.)
int prefetched(const Problem& problem, const WgmmaNumbers& numbers, const DeviceLimits& limits) {
  const std::int64_t blocks = numbers.grid(problem, limits);
  const std::int64_t tiles =
      ceil_divide(problem.m, numbers.block_m) + ceil_divide(problem.n, numbers.block_n);
  const std::int64_t lines = ceil_divide(problem.k * numbers.element_bytes, kWgmmaLineBytes);
  // Only the first entry of a batch is brought; and a block should not bring many tiles.
  if (problem.batch > 1 || tiles * numbers.split_k > blocks) {
    return 0;
  }
  if (2 * blocks <= limits.sm_count && tiles * lines <= kMostInTime * blocks) {
    return kPrefetchedInTime;
  }
  const auto begins_in_a_line = [](const Matrix& matrix) {
    return matrix.leading_dimension * size_bytes(matrix.type) % kWgmmaLineBytes != 0;
  };
  const bool is_ragged = begins_in_a_line(problem.a) || begins_in_a_line(problem.b);
  return is_ragged && tiles <= blocks / 4 ? kPrefetchedOfRagged : kPrefetched;
}

/// Whether D, and the operand that walks past a group, should leave the L2 cache first: the group's
/// part of the other operand is read in several rounds, and there is room for it if they make some,
/// but none for them, so that D would not stay there for who reads it next.
bool evicts_first(const Problem& problem, const WgmmaNumbers& numbers, const DeviceLimits& limits) {
  const Tiling clusters = numbers.clusters(problem);
  std::int64_t along = clusters.tiles_m, across = clusters.tiles_n, passing_lines = problem.n;
  int lines_of_cluster = numbers.cluster_m * numbers.block_m;
  if (numbers.raster_along_n) {
    std::swap(along, across);
    passing_lines = problem.m;
    lines_of_cluster = numbers.cluster_n * numbers.block_n;
  }
  const std::int64_t group = std::min<std::int64_t>(numbers.group_m, along);
  const auto part_of_cache = [&](std::int64_t lines, std::int64_t length, int element_bytes) {
    return static_cast<double>(lines * length * element_bytes) /
           static_cast<double>(limits.l2_bytes);
  };
  const double kept = part_of_cache(group * lines_of_cluster, problem.k, numbers.element_bytes);
  const double passing = part_of_cache(passing_lines, problem.k, numbers.element_bytes);
  const double d = part_of_cache(problem.m, problem.n, numbers.element_bytes_d);
  return numbers.tensor_store && group * across > numbers.clusters_at_a_time(limits) &&
         kept >= kLeastKept && kept <= kMostKept && std::min(passing, d) >= kLeastPassing;
}

/// Rows of clusters that make the tiles of a GPC nearly a square, which has the least to load.
int group_of_gpc(const WgmmaNumbers& numbers) {
  const int rows = numbers.block_m * numbers.cluster_m,
            columns = numbers.block_n * numbers.cluster_n;
  int group = 1;
  while (4 * group * group * rows * numbers.cluster() <= kBlocksOfGpc * columns) {
    group *= 2;
  }
  return group;
}

Config make_config(const Problem& problem, const Shape& shape, const DeviceLimits& limits) {
  const auto& [schedule, block_n, cluster, lines_of_k, epilogue_stages, swap_ab] = shape;
  const bool promotes = problem.numerics == Numerics::kPromoted;
  const bool tensor_store =
      problem.d.alignment_bytes == 16 &&
      (swap_ab ? problem.m : problem.n) * size_bytes(problem.d.type) % 16 == 0 &&
      problem.activation < Activation::kGeluTanh;
  Config config(
      {{"block_m", schedule.block_m},
       {"block_n", block_n},
       {"block_k", lines_of_k * kWgmmaLineBytes / static_cast<int>(size_bytes(problem.a.type))},
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
       {"swap_ab", swap_ab ? 1 : 0},
       {"prefetch", 0}});
  config.set("stages",
             std::max(2, stages_that_fit(WgmmaNumbers(problem, config), kMostWgmmaStages, limits)));
  return config;
}

// Grows the choice, a tile at a time.
class Choosing {
 public:
  Choosing(const Problem& problem, const DeviceLimits& limits) : asked_(problem), limits_(limits) {}

  /// Adds this tile and its transpose, with one and with two places for D, as far as each may pay.
  void consider_variants(Shape shape) {
    for (const int epilogue_stages : {2, 1}) {
      shape.epilogue_stages = epilogue_stages;
      shape.swap_ab = false;
      consider(shape);
      shape.swap_ab = true;
      if (gains_by_swapping(asked_, shape)) {
        consider(shape);
      }
    }
  }

  std::vector<Config> take() { return std::move(chosen_); }

 private:
  /// Adds this tile with the orders and the parts of K that may be the best.
  void consider(const Shape& shape) {
    const Problem problem = shape.swap_ab ? transposed(asked_) : asked_;
    if (is_too_large(problem, shape)) {
      return;
    }
    const Config plain = make_config(problem, shape, limits_);
    WgmmaNumbers numbers(problem, plain);
    const std::int64_t tiles = numbers.clusters(problem).blocks().value_or(kMaxGridX);
    const std::int64_t at_a_time = numbers.clusters_at_a_time(limits_);
    const std::int64_t tiles_of_k = ceil_divide(problem.k, numbers.block_k);
    for (int split_k = 1; split_k <= kMostWgmmaSplits; ++split_k) {
      const std::int64_t works = tiles * split_k;
      const std::int64_t rounds = ceil_divide(works, at_a_time);
      const bool one_round = rounds <= 1;
      if (split_k > 1 && (!one_round || tiles_of_k / split_k < kLeastTilesOfPart)) {
        break;  // parts would not meet, or be too short
      }
      numbers.split_k = split_k;
      if (!has_good_stages(numbers, tiles_of_k / split_k, limits_) ||
          !has_good_width(asked_, problem, numbers, limits_)) {
        continue;
      }
      if (one_round ? numbers.ping_pong  // the second consumer would have nothing to do
                    : numbers.cluster() > 2 || numbers.block_n < 64) {
        continue;  // large clusters leave multiprocessors over; larger tiles would do
      }
      Config config = plain;
      config.set("split_k", split_k);
      const bool pays = split_k > 1 || rounds * tiles_of_k >= kTilesOfKGpcAware;
      if (pays && !limits_.gpc_of_sm.empty()) {
        add(problem, config);  // in other orders it was never the best
        config.set("gpc_aware", 1);
        if (one_round) {
          config.set("group_m", group_of_gpc(numbers));
        }
      }
      add(problem, config);
      add_orders(problem, config, rounds);
    }
  }

  /// Adds a config's other orders: by columns, in larger groups.
  void add_orders(const Problem& problem, const Config& config, std::int64_t rounds) {
    const int some = config.at("gpc_aware") == 1 ? kSomeRoundsGpcAware : kSomeRounds;
    for (const auto& [group, raster] : {std::pair(8, 1), {16, 0}, {16, 1}}) {
      if (rounds >= (group == 8 ? some : kManyRounds)) {
        Config other = config;
        add(problem, std::move(other.set("group_m", group).set("raster_along_n", raster)));
      }
    }
  }

  void add(const Problem& problem, Config config) {
    const WgmmaNumbers numbers(problem, config);
    if (why_not_wgmma(asked_, numbers).empty()) {
      config.set("prefetch", prefetched(problem, numbers, limits_));
      config.set("evict_first", evicts_first(problem, numbers, limits_) ? 1 : 0);
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
  for (const Schedule& schedule : kSchedules) {
    for (int block_n = kLeastWgmmaWidth; block_n <= kMostWgmmaWidth; block_n += kWgmmaWidthStep) {
      for (const Cluster& cluster : kClusters) {
        for (const int lines_of_k : {1, 2}) {
          if (lines_of_k == 2 && (promotes || schedule.block_m + block_n > kSmallTile)) {
            break;
          }
          choosing.consider_variants({schedule, block_n, cluster, lines_of_k});
        }
      }
    }
  }
  return choosing.take();
}

}  // namespace tunedgemm
