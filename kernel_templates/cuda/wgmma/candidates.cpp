#include "kernel_templates/cuda/wgmma/wgmma.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "kernel_templates/cuda/families.h"
#include "kernel_templates/cuda/geometry.h"

namespace tunedgemm::internal {
namespace {

/// The fewest k tiles of a split-K slice: shorter slices are not worth a CTA.
constexpr std::int64_t kLeastKTilesOfSlice = 4;
/// The number of k tiles prefetched into L2. kPrefetchedInTime applies if there is time for more
/// than the usual kPrefetched: few CTAs run, and the operands have at most kMostInTime k tiles of
/// 128 bytes per CTA. kPrefetchedOfRagged applies if rows are not aligned to cache lines.
constexpr int kPrefetched = 2, kPrefetchedInTime = 8, kPrefetchedOfRagged = 16;
constexpr std::int64_t kMostInTime = 8;
/// The least number of waves for which other rasterizations are worth trying: along N (kSomeWaves;
/// kSomeWavesGpcAware with gpc_aware), and in larger groups (kManyWaves).
constexpr int kSomeWaves = 3, kSomeWavesGpcAware = 2, kManyWaves = 4;
/// With at least this many k tiles per work tile, GPC-aware rasterization may gain more than
/// claiming a cluster id costs.
constexpr std::int64_t kLeastKTilesGpcAware = 32;
/// Fractions of L2, for evict_first. A group rereads its part of one operand. Below kLeastKept,
/// that part stays in L2 anyway; above kMostKept, it never does. The streamed operand, and D with
/// evict_first=1, must have at least kLeastStreaming.
constexpr double kLeastKept = 1.0 / 6, kMostKept = 1.0 / 3, kLeastStreaming = 1.0 / 2;
/// The approximate number of CTAs that a GPC runs at a time.
constexpr int kCtasOfGpc = 16;
/// If block_m + block_n is at most this, k tiles of two swizzle atoms may beat k tiles of one atom,
/// since enough stages still fit. A D of few rows or columns has a higher limit, because its
/// problem is memory-bound and long rows load faster. So has f64, whose k tiles are short.
constexpr int kSmallTile = 128, kSmallTileOfFewRows = 192, kSmallTileOfF64 = 192;
constexpr std::int64_t kFewRows = 128;

/// The consumers that compute a tile.
struct Schedule {
  int block_m, consumers;
  bool ping_pong = false;
};
constexpr Schedule kSchedules[] = {{128, 2}, {256, 2}, {128, 2, true}, {64, 2, true},
                                   {64, 1},  {128, 1}, {192, 3}};

/// The CTAs that share their loads by multicast.
struct Cluster {
  int m, n;
};
constexpr Cluster kClusters[] = {{2, 1}, {1, 2}, {1, 1}, {2, 2}, {4, 1}, {1, 4}};

/// How a tile of D, or of D's transpose (swap_ab), is computed.
struct TileChoice {
  Schedule schedule;
  int block_n;
  Cluster cluster;
  int atoms_of_k;  ///< block_k, in swizzle atoms of 128 bytes
  int epilogue_stages = 2;
  int in_flight = 1;
  bool swap_ab = false;
};

/// Whether this tile may be faster for the transpose of D than for D.
bool gains_by_swapping(const Problem& problem, const TileChoice& choice) {
  // If D has few rows, a tile with a short side along M fits better, and only block_n can be short.
  if (problem.m <= kFewRows) {
    return true;
  }
  const std::int64_t element_bytes = size_bytes(problem.a.type);
  const bool a_is_k_major = problem.a.order == Order::kRowMajor;
  const bool b_is_k_major = problem.b.order == Order::kColumnMajor;
  const bool is_square = problem.m == problem.n;
  // The transpose of a tall tile takes one wide instruction in place of several narrow ones.
  const bool is_wide = choice.block_n > choice.schedule.block_m;
  const bool transposes_nothing =
      element_bytes == 2 || element_bytes == 8 || (a_is_k_major && b_is_k_major);
  if (!is_square && is_wide && transposes_nothing) {
    return true;
  }
  // A K-major operand may have any tile width if it is the second operand, so swapping frees the
  // width if A is K-major. If B is K-major too, a square D gains nothing, because it can have that
  // width without swapping. A 32-bit MN-major B becomes the first operand, which need not be
  // transposed in shared memory.
  const bool frees_width = choice.block_n % (wgmma::kSwizzleBytes / element_bytes) != 0;
  return a_is_k_major &&
         (b_is_k_major ? frees_width && !is_square : frees_width || element_bytes == 4);
}

/// Whether a whole CTA of the cluster would be outside D, but is of use nevertheless: D is a single
/// column of the narrowest tiles, bound by the loads of A, of which that CTA requests half.
bool only_loads(const Problem& problem, const TileChoice& choice) {
  return choice.cluster.m == 1 && choice.cluster.n == 2 && choice.block_n == wgmma::kLeastWidth &&
         problem.n <= choice.block_n;
}

/// Whether at least half of the tile would be outside D and a smaller tile exists, or a whole CTA
/// of the cluster would be outside D.
bool is_too_large(const Problem& problem, const TileChoice& choice) {
  const int block_m = choice.schedule.block_m, block_n = choice.block_n;
  return (block_m > 64 && block_m >= 2 * problem.m) ||
         (block_n > wgmma::kLeastWidth && block_n >= 2 * problem.n) ||
         (choice.cluster.m - 1) * block_m >= problem.m ||
         ((choice.cluster.n - 1) * block_n >= problem.n && !only_loads(problem, choice));
}

/// The columns that an SM computes in sequence with tiles of this width; the largest integer if the
/// width is illegal.
std::int64_t columns_in_sequence(const Problem& requested, const Problem& problem, WgmmaShape shape,
                                 int block_n, const DeviceLimits& limits) {
  shape.block_n = block_n;
  if (!why_not_wgmma(requested, shape).empty()) {
    return std::numeric_limits<std::int64_t>::max();
  }
  const std::int64_t work_tiles = shape.clusters(problem).blocks().value_or(kMaxGridX);
  return ceil_divide(work_tiles, shape.clusters_of_wave(limits)) * block_n;
}

/// Whether block_n is worth trying. Widths that are not multiples of 16 have a slower epilogue.
/// They are worth it only if there are few waves, and if CTAs finish earlier than with either
/// neighbouring width. With many waves, other tiles waste little.
bool has_good_width(const Problem& requested, const Problem& problem, const WgmmaShape& shape,
                    const DeviceLimits& limits) {
  constexpr int kFewWaves = 3;
  const int width = shape.block_n;
  if (width % 16 == 0) {
    return true;
  }
  const auto columns = [&](int block_n) {
    return columns_in_sequence(requested, problem, shape, block_n, limits);
  };
  const std::int64_t sequence = columns(width);
  return sequence <= kFewWaves * width && sequence < columns(width - 8) &&
         sequence < columns(width + 8);
}

/// Whether this number of epilogue stages is worth trying. One stage in place of two may leave
/// shared memory for one more stage of A and B. The additional stage helps if copies begin too late
/// and the split-K slice is long enough, but the store of D takes longer. cycles_ahead() says how
/// early copies begin. If they begin much too late, only one epilogue stage is tried; if a little
/// too late, one and two; otherwise only two. Stores without TMA always use two.
bool has_good_stages(const WgmmaShape& shape, std::int64_t k_tiles_of_slice,
                     const DeviceLimits& limits) {
  constexpr double kWellBelow = 1300, kNear = 1600;  // cycles ahead
  WgmmaShape with_two = shape, with_one = shape;
  with_two.epilogue_stages = 2;
  with_one.epilogue_stages = 1;
  with_two.stages = stages_that_fit(with_two, wgmma::kMostStages, limits);
  const bool makes_room = stages_that_fit(with_one, wgmma::kMostStages, limits) > with_two.stages;
  if (!shape.tensor_store || !makes_room || k_tiles_of_slice <= 2 * with_two.stages) {
    return shape.epilogue_stages == 2;
  }
  const double ahead = cycles_ahead(with_two);
  return shape.epilogue_stages == 2 ? ahead >= kWellBelow : ahead < kNear;
}

/// The number of k tiles to prefetch. Prefetched tiles take space in L2 from the previous kernel.
/// Two k tiles hide the latency of memory. More than two pay off in two cases. If few CTAs run,
/// this kernel's CTAs are resident long before they may begin. If rows are not aligned to cache
/// lines, every copy touches more lines.
int prefetched(const Problem& problem, const WgmmaShape& shape, const DeviceLimits& limits) {
  const std::int64_t ctas = shape.grid(problem, limits);
  const std::int64_t tiles =
      ceil_divide(problem.m, shape.block_m) + ceil_divide(problem.n, shape.block_n);
  const std::int64_t lines = ceil_divide(problem.k * shape.element_bytes, wgmma::kSwizzleBytes);
  // Only batch index 0 is prefetched, and a CTA should not prefetch many tiles.
  if (problem.batch > 1 || tiles * shape.split_k > ctas) {
    return 0;
  }
  if (2 * ctas <= limits.sm_count && tiles * lines <= kMostInTime * ctas) {
    return kPrefetchedInTime;
  }
  const auto has_ragged_rows = [](const Matrix& matrix) {
    return matrix.leading_dimension * size_bytes(matrix.type) % wgmma::kSwizzleBytes != 0;
  };
  const bool is_ragged = has_ragged_rows(problem.a) || has_ragged_rows(problem.b);
  return is_ragged && tiles <= ctas / 4 ? kPrefetchedOfRagged : kPrefetched;
}

/// Whether D is a single row or column of clusters. Each cluster then reads a part of one operand
/// that no other cluster reads.
bool streams_alone(const Tiling& clusters) {
  return clusters.tiles_m == 1 || clusters.tiles_n == 1;
}

/// The value of the knob evict_first. It is 2 if the streamed operand is read only once and is too
/// large to stay in L2. It is 1 if a group rereads its part of the other operand in several waves,
/// and this part stays in L2 only if D and the streamed operand are evicted first. The next kernel
/// loses nothing: D is too large to stay in L2 anyway.
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
  const auto fraction_of_l2 = [&](std::int64_t rows, std::int64_t length, int element_bytes) {
    return static_cast<double>(rows * length * element_bytes) /
           static_cast<double>(limits.l2_bytes);
  };
  const double kept = fraction_of_l2(group * rows_of_cluster, problem.k, shape.element_bytes);
  const double streaming = fraction_of_l2(streaming_rows, problem.k, shape.element_bytes);
  const double d = fraction_of_l2(problem.m, problem.n, shape.element_bytes_d);
  if (along == 1 && streaming >= kLeastStreaming) {
    return 2;
  }
  const bool makes_room = shape.tensor_store && group * across > shape.clusters_of_wave(limits) &&
                          kept >= kLeastKept && kept <= kMostKept &&
                          std::min(streaming, d) >= kLeastStreaming;
  return makes_room ? 1 : 0;
}

/// The group size with which the tiles of a GPC together form nearly a square: a square needs the
/// fewest loads.
int group_of_gpc(const WgmmaShape& shape) {
  const int rows = shape.block_m * shape.cluster_m, columns = shape.block_n * shape.cluster_n;
  int group = 1;
  while (4 * group * group * rows * shape.cluster_size() <= kCtasOfGpc * columns) {
    group *= 2;
  }
  return group;
}

WgmmaShape shape_of(const Problem& problem, const TileChoice& choice, int groups,
                    const DeviceLimits& limits) {
  const auto& [schedule, block_n, cluster, atoms_of_k, epilogue_stages, in_flight, swap_ab] =
      choice;
  const bool tensor_store =
      problem.d.alignment_bytes == 16 &&
      (swap_ab ? problem.m : problem.n) * size_bytes(problem.d.type) % 16 == 0 &&
      !has_long_activation(problem);
  WgmmaShape shape(problem, {.block_m = schedule.block_m,
                             .block_n = block_n,
                             .block_k = atoms_of_k * wgmma::kSwizzleBytes /
                                        static_cast<int>(size_bytes(problem.a.type)),
                             .stages = 2,
                             .epilogue_stages = epilogue_stages,
                             .consumers = schedule.consumers,
                             .ping_pong = schedule.ping_pong,
                             .cluster_m = cluster.m,
                             .cluster_n = cluster.n,
                             .in_flight = in_flight,
                             .tensor_store = tensor_store,
                             .swap_ab = swap_ab});
  shape.groups = groups;
  shape.stages = std::max(2, stages_that_fit(shape, wgmma::kMostStages, limits));
  return shape;
}

// Collects the candidates, one tile at a time.
class CandidateSelection {
 public:
  CandidateSelection(const Problem& problem, const DeviceLimits& limits)
      : requested_(problem), even_(batch_of_equal_groups(problem)), limits_(limits) {}

  /// Adds the variants of this tile that may be the fastest: the tile and its transpose, each with
  /// one and with two epilogue stages.
  void consider_variants(TileChoice choice) {
    for (const int epilogue_stages : {2, 1}) {
      choice.epilogue_stages = epilogue_stages;
      choice.swap_ab = false;
      consider(choice);
      choice.swap_ab = true;
      if (gains_by_swapping(even_, choice)) {
        consider(choice);
      }
    }
  }

  std::vector<Config> take() { return std::move(chosen_); }

 private:
  /// Adds this tile with the rasterizations and split-K slices that may be the fastest.
  void consider(const TileChoice& choice) {
    const Problem problem = padded(choice.swap_ab ? transposed(even_) : even_);
    if (is_too_large(choice.swap_ab ? transposed(largest_) : largest_, choice)) {
      return;
    }
    WgmmaShape shape = shape_of(problem, choice, table_groups(requested_), limits_);
    const Tiling clusters = shape.clusters(problem);
    // The same order, with A as the streaming operand.
    shape.raster_along_n = clusters.tiles_n == 1 && clusters.tiles_m > 1;
    const std::int64_t tiles = clusters.blocks().value_or(kMaxGridX);
    const std::int64_t clusters_of_wave = shape.clusters_of_wave(limits_);
    const std::int64_t k_tiles = ceil_divide(problem.k, shape.block_k);
    for (int split_k = 1; split_k <= wgmma::kMostSplitK; ++split_k) {
      const std::int64_t work_tiles = tiles * split_k;
      const std::int64_t waves = ceil_divide(work_tiles, clusters_of_wave);
      const bool one_wave = waves <= 1;
      if (split_k > 1 && (!one_wave || k_tiles / split_k < kLeastKTilesOfSlice || is_grouped_)) {
        break;  // the slices would need several waves, be too short, or be illegal
      }
      shape.split_k = split_k;
      if (!has_good_stages(shape, k_tiles / split_k, limits_) ||
          !has_good_width(requested_, problem, shape, limits_)) {
        continue;
      }
      if (one_wave ? shape.ping_pong  // the second consumer would idle
                   : shape.cluster_size() > 2 || (shape.block_n < 64 && clusters.tiles_n > 1)) {
        continue;  // large clusters leave SMs idle, and larger tiles exist
      }
      const bool pays =
          !streams_alone(clusters) && (split_k > 1 || waves * k_tiles >= kLeastKTilesGpcAware);
      WgmmaShape rasterized = shape;
      if (pays && ranges_fit(limits_)) {
        add(problem, shape);  // other rasterizations never won without gpc_aware
        rasterized.gpc_aware = true;
        if (one_wave) {
          rasterized.group_m = group_of_gpc(shape);
        }
      }
      add(problem, rasterized);
      add_rasterizations(problem, rasterized, waves);
    }
  }

  /// Adds a shape's other rasterizations: along N, and in larger groups. A single row or column
  /// of clusters has only one order, and a group cannot exceed the number of rows.
  void add_rasterizations(const Problem& problem, const WgmmaShape& shape, std::int64_t waves) {
    const Tiling clusters = shape.clusters(problem);
    if (streams_alone(clusters)) {
      return;
    }
    const int some = shape.gpc_aware ? kSomeWavesGpcAware : kSomeWaves;
    for (const auto& [group_m, along_n] : {std::pair(8, true), {16, false}, {16, true}}) {
      const std::int64_t along = along_n ? clusters.tiles_n : clusters.tiles_m;
      if (group_m == 8 ? waves >= some : waves >= kManyWaves && along > 8) {
        WgmmaShape other = shape;
        other.group_m = group_m;
        other.raster_along_n = along_n;
        add(problem, other);
      }
    }
  }

  void add(const Problem& problem, WgmmaShape shape) {
    if (why_not_wgmma(requested_, shape).empty()) {
      // The padded copies do not exist yet when the kernel prefetches, and groups are not known.
      const bool prefetches = !needs_padding(requested_) && !is_grouped_;
      shape.prefetch = prefetches ? prefetched(problem, shape, limits_) : 0;
      shape.evict_first = evicts_first(problem, shape, limits_);
      chosen_.push_back(config_of(shape));
    }
  }

  const Problem& requested_;
  const Problem even_;
  const Problem largest_ =
      groups_rows(requested_) ? batches_of_skewed_groups(requested_)[0] : even_;
  const bool is_grouped_ = requested_.group_kind != GroupKind::kNone;
  const DeviceLimits& limits_;
  std::vector<Config> chosen_;
};

}  // namespace

std::vector<Config> wgmma_candidates(const Problem& problem, const DeviceLimits& limits) {
  CandidateSelection selection(problem, limits);
  const bool promotes = problem.numerics == Numerics::kPromoted;  // after every 128 steps along k
  const int in_flight = problem.a.type == DataType::kF64 ? 0 : 1;
  const int small_tile = std::min(usual_rows(problem), problem.n) <= kFewRows ? kSmallTileOfFewRows
                         : problem.a.type == DataType::kF64                   ? kSmallTileOfF64
                                                                              : kSmallTile;
  for (const Schedule& schedule : kSchedules) {
    for (int block_n = wgmma::kLeastWidth; block_n <= wgmma::kMostWidth;
         block_n += wgmma::kWidthStep) {
      for (const Cluster& cluster : kClusters) {
        for (const int atoms_of_k : {1, 2}) {
          if (atoms_of_k == 2 && (promotes || schedule.block_m + block_n > small_tile)) {
            break;
          }
          selection.consider_variants({.schedule = schedule,
                                       .block_n = block_n,
                                       .cluster = cluster,
                                       .atoms_of_k = atoms_of_k,
                                       .in_flight = in_flight});
          if (promotes) {  // one set of partial sums leaves registers for larger tiles
            selection.consider_variants({.schedule = schedule,
                                         .block_n = block_n,
                                         .cluster = cluster,
                                         .atoms_of_k = atoms_of_k,
                                         .in_flight = 0});
          }
        }
      }
    }
  }
  return selection.take();
}

}  // namespace tunedgemm::internal
