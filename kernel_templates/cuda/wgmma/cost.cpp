#include "kernel_templates/cuda/wgmma/wgmma.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernel_templates/cuda/families.h"
#include "kernel_templates/cuda/gpu_facts.h"

namespace tunedgemm::internal {
namespace {

// The constants and the measurements to which they are fitted, on an H200 (LABBOOK.md, "Cost
// model"). Later fits did not time the problems of earlier ones again. The model ignores the cost
// of a single epilogue stage.
//
//   all      2026-11-22  9500 times of 195 shapes of all types, 225 sets of configs. The config
//                        ranked first is within 2.6 % of the best in the geometric mean, the best
//                        of the first 4 within 0.8 %, of the first 16 within 0.2 %
//   rows     2026-11-22  3700 times of 10 shapes whose rows straddle cache lines
//   drawn    2026-11-25  the even-numbered of 100 drawn problems and of 222 numbers of rows
//   layers   2026-11-25  925 sets of configs of ten layers
//   models   2026-11-26  84 problems of a Llama and a GPT-2
//   isolated 2026-11-29  1415 times of 150 drawn problems
//   promoted 2026-11-28  set by hand after 500 times of 9 shapes of e4m3, without and with scales
//                        of blocks
//
// The comment of a constant begins with the name of its fit.
//
// Bandwidths of an SM, in bytes per cycle.
constexpr double kSharedBytesPerCycle = 128;     // the hardware's
constexpr double kL2BytesPerCycle = 78;          // all: when all SMs load; more if fewer do
constexpr double kTransposedBytesPerCycle = 15;  // drawn: by the producer's other warps

// Cycles of a k tile.
constexpr double kBarrierOfKTile = 45;    // layers
constexpr double kStartOfOperands = 9.5;  // all: per instruction
// all: copies should begin kLatency cycles before their products. If they begin later, kExposedPart
// of the missing cycles is added.
constexpr double kLatency = 1500, kExposedPart = 0.13;

// promoted: instructions of a partial sum whose factor is its column's, or one of several; the part
// of the instructions that the tensor cores wait for; until a step's sums can be read.
constexpr double kFactorOfColumn = 2, kSelectedFactor = 3;
constexpr double kExposedPromotion = 0.4, kWaitForStep = 100;

// f64, 512 times of 7 shapes: the slowdown of a consumer without another one, and cycles for every
// 16 k.
constexpr double kAloneWithF64 = 1.6, kStepOfF64 = 60;

// Cycles of a work tile.
constexpr double kBubbleOfTile = 800;          // all: between the products of two tiles of D
constexpr double kHandOver = 110;              // all: from one ping-pong consumer to the other
constexpr double kCyclesOfAccumulator = 0.05;  // all: in the epilogue
constexpr double kCyclesOfStoredByte = 0.01;   // all: in the epilogue

// Cycles of a launch.
constexpr double kStart = 300;                          // drawn: until the first k tile arrives
constexpr double kStartOfCluster = 105;                 // layers
constexpr double kClaimOfClusterId = 550;               // all
constexpr double kSplitKReduction = 3000;               // drawn
constexpr double kSplitKReductionOfAccumulator = 0.25;  // all

// isolated: the other constants were fitted to launches that follow each other.
constexpr double kIsolated = 1.3;

// The time of copies.
// layers: products and copies overlap, except for this fraction of the shorter time.
constexpr double kOverlapLoss = 0.08;
// rows: a copied line straddles two cache lines. The best of the first 16 configs is within 0.2 %
// of the best time with this factor, and within 1.5 % without it.
constexpr double kStraddleSlowdown = 2;
// layers: the CTAs of a cluster wait for one another although each reads a different part of an
// operand from memory. The slowdown, for each doubling of the CTAs, is largest if two clusters read
// each part: 279 x 4096 x 4096, bf16 nt, tile 64 x 144, takes 19.3 us with clusters along the
// dimension of D that is 4096, 16.6 us without clusters, and 15.5 us with clusters along the other.
constexpr double kCoupledSlowdown = 1.4;
// layers: gpc_aware in one wave, in which all CTAs begin together, and in several.
constexpr double kGpcAwareInOneWave = 0.8, kGpcAwareInWaves = 0.97;

// Factors of reading from memory.
// layers: up to this fraction longer if several clusters read each part of both operands.
constexpr double kSharedReading = 0.3;
// layers: slower by this fraction for each row of the tile's shorter side, up to kNarrowTile rows.
// Narrow tiles are therefore preferred if D has few rows: 1 x 128256 x 4096, bf16 nt, takes 247 us
// with the tile 64 x 256, and 239 to 242 us with the transposed tiles 256 x 16 and 64 x 16.
constexpr double kSlowdownPerRow = 0.0028;
constexpr int kNarrowTile = 64;

// The time of the epilogue relative to TMA's, if threads store D: rows that are not aligned for TMA
// (unaligned_rows.cuh), or, after a long activation, vectors of kRun elements (store.cuh) or, if
// D's rows are not aligned for them, elements one by one.
constexpr double kUnalignedRows = 2.5, kStrip = 80;  // isolated: more in strips of few columns
constexpr double kRuns = 2.5;                        // all
constexpr double kElements = 20;                     // drawn
constexpr int kRun = 4;
// models: a thread loads C and the bias of this many elements together (epilogue.cuh).
constexpr int kLoadsInFlight = 8;

// A k tile's partial sums are added by one instruction each, or more if their factors differ. The
// tensor cores meanwhile compute the next step, or for another consumer, if there is one.
double promotion_cycles(const WgmmaShape& shape) {
  if (!shape.promotes) {
    return 0;
  }
  const bool selects_factors = shape.has_block_scales && kScaledDepth % shape.block_n != 0;
  const double instructions_of_sum = shape.scales_columns ? kFactorOfColumn
                                     : selects_factors    ? kSelectedFactor
                                                          : 1;
  const double instructions =
      instructions_of_sum * shape.block_m * shape.block_n / wgmma::kWarpgroupThreads;
  const bool overlaps = shape.in_flight == 1 || shape.consumers_of_tile() > 1;
  return overlaps ? kExposedPromotion * instructions
                  : instructions + kWaitForStep * shape.row_blocks();
}

// The warps multiply f64. Each reads the fragments of its rows and of all columns. A warp that is
// alone on its scheduler waits for them and for its instructions.
double products_cycles_of_f64(const WgmmaShape& shape) {
  const int rows_of_warp = 16 * shape.row_blocks();
  const double read = static_cast<double>(shape.bytes_along_k()) * shape.block_m / rows_of_warp *
                      (rows_of_warp + shape.block_n) / kSharedBytesPerCycle;
  const double products = static_cast<double>(shape.block_m) * shape.block_n * shape.block_k /
                          gpu_facts(kWgmmaArch).mma_sync_f64;
  return (shape.consumers_of_tile() == 1 ? kAloneWithF64 : 1) * std::max(products, read) +
         kStepOfF64 * shape.bytes_along_k() / wgmma::kSwizzleBytes;
}

double products_cycles(const WgmmaShape& shape) {
  if (shape.multiplies_by_warps()) {
    return products_cycles_of_f64(shape);
  }
  // For all types, 64 x n accumulators by 32 bytes of k take n / 2 cycles, unless reading the
  // operands takes longer.
  const double instructions = static_cast<double>(shape.block_m) / wgmma::kRowBlock *
                              shape.bytes_along_k() / wgmma::kStepBytes;
  const double products = shape.block_n / 2.0;
  const double operands =
      (wgmma::kRowBlock + shape.block_n) * wgmma::kStepBytes / kSharedBytesPerCycle;
  return instructions * std::max(products, operands + kStartOfOperands) + promotion_cycles(shape);
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

/// How the work of a launch is divided.
struct Division {
  Division(const Problem& problem, const WgmmaShape& shape, const DeviceLimits& limits)
      : clusters(shape.clusters(problem)), grid(shape.grid(problem, limits)) {
    const std::int64_t work_tiles = clusters.blocks().value_or(1);
    work_tiles_of_cta = static_cast<double>(
        ceil_divide(work_tiles, std::max<std::int64_t>(grid / shape.cluster_size(), 1)));
    k_tiles =
        static_cast<double>(ceil_divide(ceil_divide(problem.k, shape.block_k), shape.split_k));
  }

  Tiling clusters;
  std::int64_t grid;
  double work_tiles_of_cta, k_tiles;  ///< k_tiles: of a work tile
};

double transposing_cycles(const WgmmaShape& shape) {  // of a k tile
  return transposed_bytes(shape) / kTransposedBytesPerCycle;
}

double k_tile_cycles(const Problem& problem, const WgmmaShape& shape, const Division& division,
                     const DeviceLimits& limits) {
  // Transposing reads and writes shared memory once more, and competes with the reads of wgmma. It
  // overlaps with the products of earlier k tiles, but nothing hides it for the first one.
  const double multiply_cycles =
      products_cycles(shape) + 2 * transposed_bytes(shape) / kSharedBytesPerCycle;
  const double sm_utilization =
      std::min(1.0, static_cast<double>(division.grid) / std::max(limits.sm_count, 1));
  const double gpc_factor = !shape.gpc_aware                 ? 1
                            : division.work_tiles_of_cta > 1 ? kGpcAwareInWaves
                                                             : kGpcAwareInOneWave;
  const double copying_cycles =
      copy_cycles(problem, shape, division.clusters) * sm_utilization * gpc_factor;
  const double exposed_latency = std::max(0.0, kLatency - cycles_ahead(shape)) * kExposedPart;
  return std::max({multiply_cycles, copying_cycles, transposing_cycles(shape)}) +
         kOverlapLoss * std::min(multiply_cycles, copying_cycles) + kBarrierOfKTile +
         exposed_latency;
}

double accumulators_of_tile(const WgmmaShape& shape) {
  return static_cast<double>(shape.block_m) * shape.block_n;
}

// Accumulators are converted and go to D through shared memory.
double epilogue_cycles(const Problem& problem, const WgmmaShape& shape) {
  const double elements = accumulators_of_tile(shape);
  const bool is_long = has_long_activation(problem);
  const bool stores_runs = problem.d.alignment_bytes >= kRun * shape.element_bytes_d;
  const double store_slowdown = shape.tensor_store ? 1
                                : !is_long    ? kUnalignedRows + kStrip / shape.columns_of_strip()
                                : stores_runs ? kRuns
                                              : kElements;
  const double elements_of_thread = elements / shape.consumers_of_tile() /
                                    wgmma::kWarpgroupThreads *
                                    part_inside(problem, wgmma::kRowBlock, shape.block_n);
  const double wait_for_operands =
      elements_of_thread / shape.split_k *
      epilogue_cycles_of_element(problem, is_long ? 1 : kLoadsInFlight);
  return kBubbleOfTile + wait_for_operands +
         elements / shape.consumers * store_slowdown *
             (kCyclesOfAccumulator + kCyclesOfStoredByte * shape.element_bytes_d);
}

// Ping-pong consumers are bound by their mainloops, which alternate, or by their own tiles.
double work_cycles(const WgmmaShape& shape, double work_tiles, double mainloop, double epilogue) {
  return shape.ping_pong ? std::max(work_tiles * (mainloop + kHandOver) + epilogue,
                                    std::ceil(work_tiles / 2) * (mainloop + epilogue) +
                                        (work_tiles > 1 ? mainloop : 0))
                         : work_tiles * (mainloop + epilogue);
}

double startup_cycles(const WgmmaShape& shape) {
  return kStart + transposing_cycles(shape) + (shape.cluster_size() > 1 ? kStartOfCluster : 0) +
         (shape.gpc_aware ? kClaimOfClusterId : 0);
}

double reduction_cycles(const WgmmaShape& shape) {
  return shape.split_k == 1
             ? 0
             : kSplitKReduction + kSplitKReductionOfAccumulator * accumulators_of_tile(shape) *
                                      shape.accumulator_bytes() / 4;
}

double reading_us(const Problem& problem, const WgmmaShape& shape, const Division& division,
                  const DeviceLimits& limits) {
  const double least_bytes = minimum_bytes(problem);
  const bool stays_in_cache = least_bytes < static_cast<double>(limits.l2_bytes) / 2;
  const double bytes_from_memory =
      bytes_read(problem, shape, division.clusters, static_cast<double>(division.grid));
  const int narrow_side = std::min({shape.loaded_m(), shape.loaded_n(), kNarrowTile});
  const double first = first_copies(std::min(division.clusters.tiles_m, division.clusters.tiles_n));
  return memory_us(stays_in_cache ? least_bytes : std::max(least_bytes, bytes_from_memory),
                   limits) *
         (1 + kSlowdownPerRow * narrow_side) * (1 + kSharedReading * (1 - first));
}

}  // namespace

double cycles_ahead(const WgmmaShape& shape) {
  return (shape.stages - 1 - shape.in_flight) * products_cycles(shape);
}

double wgmma_us(const Problem& problem, const WgmmaShape& shape, const DeviceLimits& limits) {
  const Division division(problem, shape, limits);
  const double mainloop = division.k_tiles * k_tile_cycles(problem, shape, division, limits);
  const double work =
      work_cycles(shape, division.work_tiles_of_cta, mainloop, epilogue_cycles(problem, shape));
  const double slowdown = shape.multiplies_by_warps() ? 1 : kIsolated;
  const double compute = slowdown * cycles_us(startup_cycles(shape) + work, limits);
  const double reading = reading_us(problem, shape, division, limits);
  return kLaunchUs + std::max(compute, reading) + std::min(compute, reading) / 20 +
         slowdown * cycles_us(reduction_cycles(shape), limits);
}

}  // namespace tunedgemm::internal
