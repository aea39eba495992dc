#include "kernel_templates/cuda/wgmma/wgmma.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernel_templates/cuda/families.h"

namespace tunedgemm::internal {
namespace {

// Fitted to about 9500 times measured on an H200 (2026-11-21 and 22): 195 shapes of all types, in
// 225 sets of configs that earlier fits ranked high. In the geometric mean, the config that the
// model ranks first is within 2.6 % of the best measured time. The best of the 4 configs that it
// ranks highest is within 0.8 %, and the best of 16 is within 0.2 %.
// Later fits (LABBOOK.md, 2026-11-25) did not time those shapes again: first of the terms of the
// epilogue, of transposing, of the start and of split-K; then of overlap, clusters, GPC-aware
// rasterization and memory, to the times of 925 sets of configs of ten layers.

// Bandwidths of an SM in bytes per cycle.
constexpr double kSharedBytesPerCycle = 128;
constexpr double kL2BytesPerCycle = 78;          // when all SMs load; more if fewer do
constexpr double kTransposedBytesPerCycle = 15;  // by the producer's other warps
// Products and copies overlap, except for this fraction of the shorter time.
constexpr double kOverlapLoss = 0.08;
// Copies are slower if a copied line straddles two cache lines. kStraddleSlowdown is fitted to 3700
// times of 10 shapes with straddling rows (H200, 2026-11-22). The best of the 16 configs ranked
// highest is within 0.2 % of the best time with kStraddleSlowdown, and within 1.5 % without it.
constexpr double kStraddleSlowdown = 2;
// Copies of an operand take longer, by up to this share for each doubling of the CTAs, if the CTAs
// of a cluster wait for one another although each reads a different part from memory. The share is
// largest if two clusters read each part: 4096 x 4096 with 279 rows, bf16 nt, tile 64 x 144, takes
// 19.3 us with clusters along the 4096, 16.6 us without clusters, and 15.5 us with clusters across.
constexpr double kCoupledSlowdown = 1.4;
// Reading from memory takes longer by up to this fraction if several clusters read each part of
// both operands.
constexpr double kSharedReading = 0.3;
// Reading from memory slows down by this fraction for each row of the tile's shorter side, up to
// kNarrowTile rows. Narrow tiles are therefore preferred if D has few rows: 1 x 128256 x 4096, bf16
// nt, takes 247 us with the tile 64 x 256, and 239 to 242 us with the transposed tiles 256 x 16 and
// 64 x 16.
constexpr double kSlowdownPerRow = 0.0028;
constexpr int kNarrowTile = 64;
// The time of copies with gpc_aware, relative to the time without it: in one wave, in which all
// CTAs begin together, and in several.
constexpr double kGpcAwareInOneWave = 0.8, kGpcAwareInWaves = 0.97;
// Cycles.
constexpr double kStart = 300;  // until the first k tile arrives
constexpr double kStartOfCluster = 105;
constexpr double kClaimOfClusterId = 550;
constexpr double kBubbleOfTile = 800;  // between the products of two tiles of D
constexpr double kHandOver = 110;      // from one ping-pong consumer to the other
constexpr double kBarrierOfKTile = 45;
constexpr double kStartOfOperands = 9.5;       // per instruction
constexpr double kCyclesOfAccumulator = 0.05;  // in the epilogue
// Copies should begin kLatency cycles before their products. If they begin later, kExposedPart of
// the missing cycles is added to the time. The model ignores the cost of a single epilogue stage.
constexpr double kLatency = 1500, kExposedPart = 0.13;
// Cycles after the mainloop.
constexpr double kSplitKReduction = 3000, kSplitKReductionOfAccumulator = 0.25;
// The time of the epilogue relative to TMA's, if threads store D: rows that are not aligned for TMA
// (unaligned_rows.cuh), or, after a long activation, vectors of kRun elements (store.cuh) or, if
// D's rows are not aligned for them, elements one by one.
constexpr double kUnalignedRows = 4, kRuns = 2.5, kElements = 20;
constexpr int kRun = 4;
// A thread loads C and the bias of this many elements together (epilogue.cuh).
constexpr int kLoadsInFlight = 8;

double products_cycles(const WgmmaShape& shape) {
  // For all types, 64 x n accumulators by 32 bytes of k take n / 2 cycles, unless reading the
  // operands takes longer.
  const double instructions = static_cast<double>(shape.block_m) / wgmma::kRowBlock *
                              shape.bytes_along_k() / wgmma::kStepBytes;
  const double products = shape.block_n / 2.0;
  const double operands =
      (wgmma::kRowBlock + shape.block_n) * wgmma::kStepBytes / kSharedBytesPerCycle;
  const double promotion = shape.promotes ? shape.block_n / 12.0 : 0;
  return instructions * std::max(products, operands + kStartOfOperands) + promotion;
}

// TMA copies lines as long as a cache line. If the leading dimension is a multiple of a cache line,
// no copied line straddles two cache lines; otherwise most of them do.
double straddle_slowdown(const Matrix& matrix) {
  const std::int64_t pitch_bytes = matrix.leading_dimension * size_bytes(matrix.type);
  const auto aligned =
      static_cast<double>(std::gcd(pitch_bytes, std::int64_t{wgmma::kSwizzleBytes}));
  return 1 + (kStraddleSlowdown - 1) * (1 - aligned / wgmma::kSwizzleBytes);
}

// The fraction of an operand's copies that are the first of their part, if this many clusters read
// each part.
double first_copies(std::int64_t readers) {
  return 1 / static_cast<double>(std::max<std::int64_t>(readers, 1));
}

// The slowdown of an operand of which the CTAs of a cluster copy `parts` different parts.
double coupled_slowdown(double first, int parts) {
  return 1 + kCoupledSlowdown * 4 * first * (1 - first) * std::log2(parts);
}

double copy_cycles(const Problem& problem, const WgmmaShape& shape, const Tiling& clusters) {
  const double slowdown_of_a =
      std::max(straddle_slowdown(problem.a),
               coupled_slowdown(first_copies(clusters.tiles_n), shape.cluster_m));
  const double slowdown_of_b =
      std::max(straddle_slowdown(problem.b),
               coupled_slowdown(first_copies(clusters.tiles_m), shape.cluster_n));
  return shape.bytes_along_k() *
         (slowdown_of_a * shape.loaded_m() / shape.cluster_n +
          slowdown_of_b * shape.loaded_n() / shape.cluster_m) /
         kL2BytesPerCycle;
}

double transposed_bytes(const WgmmaShape& shape) {  // of a k tile
  const double lines =
      (shape.transposes_a() ? shape.loaded_m() : 0) + (shape.transposes_b() ? shape.loaded_n() : 0);
  return wgmma::kSwizzleBytes * lines;
}

// The bytes read from memory. Concurrent tiles share their loads through L2.
double bytes_read(const Problem& problem, const WgmmaShape& shape, const Tiling& clusters,
                  double concurrent) {
  auto along = static_cast<double>(clusters.tiles_m),
       across = static_cast<double>(clusters.tiles_n);
  double rows_of_tile = shape.block_m * shape.cluster_m;
  double columns_of_tile = shape.block_n * shape.cluster_n;
  if (shape.raster_along_n) {
    std::swap(along, across);
    std::swap(rows_of_tile, columns_of_tile);
  }
  const double tiles_of_wave =
      std::clamp(concurrent / shape.cluster_size() / shape.split_k, 1.0, along * across);
  const double group = std::min<double>(shape.group_m, along);
  const double columns = std::min(across, std::ceil(tiles_of_wave / group));
  const double rows = std::min(along, std::max(group, tiles_of_wave / columns));
  const double row_bytes = static_cast<double>(problem.k) * shape.element_bytes;
  return along * across / tiles_of_wave * static_cast<double>(problem.batch) * row_bytes *
         (rows * rows_of_tile + columns * columns_of_tile);
}

}  // namespace

double cycles_ahead(const WgmmaShape& shape) {
  return (shape.stages - 1 - shape.in_flight) * products_cycles(shape);
}

double wgmma_us(const Problem& problem, const WgmmaShape& shape, const DeviceLimits& limits) {
  const Tiling clusters = shape.clusters(problem);
  const std::int64_t work_tiles = clusters.blocks().value_or(1);
  const std::int64_t grid = shape.grid(problem, limits);
  const double work_tiles_of_cta = static_cast<double>(
      ceil_divide(work_tiles, std::max<std::int64_t>(grid / shape.cluster_size(), 1)));
  const double k_tiles =
      static_cast<double>(ceil_divide(ceil_divide(problem.k, shape.block_k), shape.split_k));

  const double sm_utilization =
      std::min(1.0, static_cast<double>(grid) / std::max(limits.sm_count, 1));
  // Transposing reads and writes shared memory once more, and competes with the reads of wgmma. It
  // overlaps with the products of earlier k tiles, but nothing hides it for the first one.
  const double multiply_cycles =
      products_cycles(shape) + 2 * transposed_bytes(shape) / kSharedBytesPerCycle;
  const double transposing_cycles = transposed_bytes(shape) / kTransposedBytesPerCycle;
  const double least_bytes = minimum_bytes(problem);
  const double gpc_factor = !shape.gpc_aware        ? 1
                            : work_tiles_of_cta > 1 ? kGpcAwareInWaves
                                                    : kGpcAwareInOneWave;
  const double copying_cycles = copy_cycles(problem, shape, clusters) * sm_utilization * gpc_factor;
  const double exposed_latency = std::max(0.0, kLatency - cycles_ahead(shape)) * kExposedPart;
  const double k_tile_cycles = std::max({multiply_cycles, copying_cycles, transposing_cycles}) +
                               kOverlapLoss * std::min(multiply_cycles, copying_cycles) +
                               kBarrierOfKTile + exposed_latency;
  // Accumulators are converted and go to D through shared memory.
  const double elements = static_cast<double>(shape.block_m) * shape.block_n;
  const bool is_long = traits(problem.activation).is_long;
  const bool stores_runs = problem.d.alignment_bytes >= kRun * shape.element_bytes_d;
  const double store_slowdown = shape.tensor_store ? 1
                                : !is_long         ? kUnalignedRows
                                : stores_runs      ? kRuns
                                                   : kElements;
  const double elements_of_thread = elements / shape.consumers_of_tile() /
                                    wgmma::kWarpgroupThreads *
                                    part_inside(problem, wgmma::kRowBlock, shape.block_n);
  const double epilogue_wait = elements_of_thread / shape.split_k *
                               epilogue_cycles_of_element(problem, is_long ? 1 : kLoadsInFlight);
  const double epilogue_cycles = kBubbleOfTile + epilogue_wait +
                                 elements / shape.consumers * store_slowdown *
                                     (kCyclesOfAccumulator + 0.01 * shape.element_bytes_d);
  const double mainloop_cycles = k_tiles * k_tile_cycles;
  // Ping-pong consumers are bound by their mainloops, which alternate, or by their own tiles.
  const double tiles_of_consumer = std::ceil(work_tiles_of_cta / 2);
  const double work_cycles =
      shape.ping_pong
          ? std::max(work_tiles_of_cta * (mainloop_cycles + kHandOver) + epilogue_cycles,
                     tiles_of_consumer * (mainloop_cycles + epilogue_cycles) +
                         (work_tiles_of_cta > 1 ? mainloop_cycles : 0))
          : work_tiles_of_cta * (mainloop_cycles + epilogue_cycles);
  const double startup_cycles = kStart + transposing_cycles +
                                (shape.cluster_size() > 1 ? kStartOfCluster : 0) +
                                (shape.gpc_aware ? kClaimOfClusterId : 0);
  const double cycles = startup_cycles + work_cycles;
  const double reduction_cycles =
      shape.split_k == 1 ? 0 : kSplitKReduction + kSplitKReductionOfAccumulator * elements;
  const double bytes_from_memory = bytes_read(problem, shape, clusters, static_cast<double>(grid));
  const bool stays_in_cache = least_bytes < static_cast<double>(limits.l2_bytes) / 2;
  const int narrow_side = std::min({shape.loaded_m(), shape.loaded_n(), kNarrowTile});
  const double first = first_copies(std::min(clusters.tiles_m, clusters.tiles_n));
  const double reading_us =
      memory_us(stays_in_cache ? least_bytes : std::max(least_bytes, bytes_from_memory), limits) *
      (1 + kSlowdownPerRow * narrow_side) * (1 + kSharedReading * (1 - first));
  const double compute_us = cycles_us(cycles, limits);
  return kLaunchUs + std::max(compute_us, reading_us) + std::min(compute_us, reading_us) / 20 +
         cycles_us(reduction_cycles, limits);
}

}  // namespace tunedgemm::internal
