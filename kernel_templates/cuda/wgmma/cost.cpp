#include "kernel_templates/cuda/wgmma/wgmma.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tunedgemm::internal {
namespace {

// Fitted to about 9500 times of 225 sets of configs, 195 shapes of all types, on an H200
// (2026-11-21 and 22), of those configs that earlier fits liked. In the geometric mean the first
// prediction is within 2.6 % of the best measured, the best of the first 4 within 0.8 %, of the
// first 16 within 0.2 %.

// An SM, in bytes a cycle.
constexpr double kSharedBytesPerCycle = 128;
constexpr double kL2BytesPerCycle = 78;  // when all of them ask; more, the fewer they are
constexpr double kHindrance = 0.23;      // of the shorter of products and copies to the other
// Copies are slower where the matrices do not fit into the cache, or where every line that is
// copied lies in two of the cache: the larger counts. The latter after 3700 times of 10 shapes with
// such rows (H200, 2026-11-22): the best of the first 16 within 0.2 % of the best, 1.5 % without.
constexpr double kSlowFromMemory = 1.4, kSlowByLines = 2;
// Reading from memory, for each row (or column) of a narrow tile: of a D of one row most lie beyond
// it. 1 x 128256 x 4096, bf16 nt: 64 x 256 247 us, its transposes 256 x 16 and 64 x 16 239 to 242.
constexpr double kSlowOfRow = 0.0006;
constexpr int kNarrowTile = 64;
// gpc_aware: copies in the first wave, where all blocks begin together, and in later ones. Not
// fitted: 512 x 512 x 65536, f16 nn, 128 x 128 in pairs: 56.0 -> 47.0 us; 8192^3 1419 -> 1396.
constexpr double kGpcAwareInOneWave = 0.6, kGpcAwareInWaves = 0.9;
// In cycles.
constexpr double kStartOfCluster = 600;
constexpr double kClaimOfClusterId = 550;
constexpr double kBubbleOfTile = 800;     // between the products of two tiles of D
constexpr double kHandOver = 110;         // from one consumer to the other
constexpr double kBarrierOfStep = 27;     // of a tile along K
constexpr double kStartOfOperands = 9.5;  // of one instruction
constexpr double kCyclesOfSum = 0.05;     // on its way out
// Copies that are begun so few cycles ahead of their products come late, by a part of the rest.
// What one stage of the epilogue costs in place of two (epilogue_stages) is not known here.
constexpr double kLatency = 1500, kLateOfLatency = 0.13;
// When all products have ended.
constexpr double kSplitKReduction = 5400, kSplitKReductionOfSum = 0.25;
// Where D's rows are not aligned for runs of so many sums (store.cuh), its elements leave one by
// one. Not fitted.
constexpr int kRun = 4;
constexpr double kSlowOfElements = 5;

double products_cycles(const WgmmaShape& shape) {
  // Of all types, 64 x n sums by 32 bytes take n / 2 cycles, unless the operands come slower.
  const double instructions = static_cast<double>(shape.block_m) / wgmma::kRowBlock *
                              shape.bytes_along_k() / wgmma::kStepBytes;
  const double products = shape.block_n / 2.0;
  const double operands =
      (wgmma::kRowBlock + shape.block_n) * wgmma::kStepBytes / kSharedBytesPerCycle;
  const double added = shape.promotes ? shape.block_n / 12.0 : 0;
  return instructions * std::max(products, operands + kStartOfOperands) + added;
}

// Copies bring lines as long as those of the cache. Where the leading dimension is a multiple of
// that, each is one of the cache's; otherwise only as many as a common divisor makes coincide.
double slow_by_lines(const Matrix& matrix) {
  const std::int64_t apart = matrix.leading_dimension * size_bytes(matrix.type);
  const auto same = static_cast<double>(std::gcd(apart, std::int64_t{wgmma::kSwizzleBytes}));
  return 1 + (kSlowByLines - 1) * (1 - same / wgmma::kSwizzleBytes);
}

double copied_cycles(const Problem& problem, const WgmmaShape& shape, double slow) {
  const double row_bytes = static_cast<double>(shape.block_k) * shape.element_bytes;
  return row_bytes *
         (std::max(slow, slow_by_lines(problem.a)) * shape.loaded_m() / shape.cluster_n +
          std::max(slow, slow_by_lines(problem.b)) * shape.loaded_n() / shape.cluster_m) /
         kL2BytesPerCycle;
}

// Tiles that are transposed are read and written once more, while products read them.
double transpose_cycles(const WgmmaShape& shape) {
  const double lines =
      (shape.transposes_a() ? shape.loaded_m() : 0) + (shape.transposes_b() ? shape.loaded_n() : 0);
  return 2 * wgmma::kSwizzleBytes * lines / kSharedBytesPerCycle;
}

// What is read from memory when the tiles that are computed at the same time share what they read.
double bytes_read(const Problem& problem, const WgmmaShape& shape, double side_by_side) {
  const Tiling clusters = shape.clusters(problem);
  auto along = static_cast<double>(clusters.tiles_m),
       across = static_cast<double>(clusters.tiles_n);
  double rows_of_tile = shape.block_m * shape.cluster_m;
  double columns_of_tile = shape.block_n * shape.cluster_n;
  if (shape.raster_along_n) {
    std::swap(along, across);
    std::swap(rows_of_tile, columns_of_tile);
  }
  const double at_a_time =
      std::clamp(side_by_side / shape.cluster_size() / shape.split_k, 1.0, along * across);
  const double group = std::min<double>(shape.group_m, along);
  const double columns = std::min(across, std::ceil(at_a_time / group));
  const double rows = std::min(along, std::max(group, at_a_time / columns));
  const double row_bytes = static_cast<double>(problem.k) * shape.element_bytes;
  return along * across / at_a_time * static_cast<double>(problem.batch) * row_bytes *
         (rows * rows_of_tile + columns * columns_of_tile);
}

}  // namespace

double cycles_ahead(const WgmmaShape& shape) {
  return (shape.stages - 1 - shape.in_flight) * products_cycles(shape);
}

double wgmma_us(const Problem& problem, const WgmmaShape& shape, const DeviceLimits& limits) {
  const std::int64_t works = shape.clusters(problem).blocks().value_or(1);
  const std::int64_t grid = shape.grid(problem, limits);
  const double works_of_block = static_cast<double>(
      ceil_divide(works, std::max<std::int64_t>(grid / shape.cluster_size(), 1)));
  const double tiles_of_k =
      static_cast<double>(ceil_divide(ceil_divide(problem.k, shape.block_k), shape.split_k));

  const double busy = std::min(1.0, static_cast<double>(grid) / std::max(limits.sm_count, 1));
  const double multiplied = products_cycles(shape) + transpose_cycles(shape);
  const double least = minimum_bytes(problem);
  const double from_memory = least < static_cast<double>(limits.l2_bytes) ? 1 : kSlowFromMemory;
  const double shared = !shape.gpc_aware     ? 1
                        : works_of_block > 1 ? kGpcAwareInWaves
                                             : kGpcAwareInOneWave;
  const double copied = copied_cycles(problem, shape, from_memory) * busy * shared;
  const double late = std::max(0.0, kLatency - cycles_ahead(shape)) * kLateOfLatency;
  const double step = std::max(multiplied, copied) + kHindrance * std::min(multiplied, copied) +
                      kBarrierOfStep + late;
  // The sums on their way out: converted, through shared memory, and to the memory.
  const double elements = static_cast<double>(shape.block_m) * shape.block_n;
  const bool by_runs = problem.d.alignment_bytes >= kRun * shape.element_bytes_d;
  const double slow = shape.tensor_store ? 1 : by_runs ? 2.5 : kSlowOfElements;
  const double store = kBubbleOfTile + elements / shape.consumers * slow *
                                           (kCyclesOfSum + 0.01 * shape.element_bytes_d);
  const double products = tiles_of_k * step;
  const double of_work =
      shape.ping_pong ? std::max(products + kHandOver, (products + store) / 2) : products + store;
  const double started =
      (shape.cluster_size() > 1 ? kStartOfCluster : 0) + (shape.gpc_aware ? kClaimOfClusterId : 0);
  const double cycles = started + works_of_block * of_work + (shape.ping_pong ? store : 0);
  const double reduction =
      shape.split_k == 1 ? 0 : kSplitKReduction + kSplitKReductionOfSum * elements;
  const double read = bytes_read(problem, shape, static_cast<double>(grid));
  const bool stays_in_cache = least < static_cast<double>(limits.l2_bytes) / 2;
  const int narrow = std::min({shape.loaded_m(), shape.loaded_n(), kNarrowTile});
  const double memory =
      memory_us(stays_in_cache ? least : std::max(least, read), limits) * (1 + kSlowOfRow * narrow);
  const double compute = cycles_us(cycles, limits);
  return kLaunchUs + std::max(compute, memory) + std::min(compute, memory) / 20 +
         cycles_us(reduction, limits);
}

}  // namespace tunedgemm::internal
