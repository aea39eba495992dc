#include <algorithm>

#include "kernel_templates/cuda/families.h"
#include "kernel_templates/cuda/gpu_facts.h"
#include "kernel_templates/cuda/mma/mma.h"

namespace tunedgemm::internal {
namespace {

// Bandwidths of an SM in bytes per cycle.
constexpr double kSharedBytesPerCycle = 128;
constexpr double kL2BytesPerCycle = 28;
// Cycles.
constexpr double kLatencyOfTile = 1100;    // from the start of a k tile's copy to its arrival
constexpr double kBarrierOfTile = 145;     // including the fragments of the first step
constexpr double kBarrierOfLongTile = 10;  // f64: other warps hide most of it
constexpr double kStartOfCta = 330;        // until the first k tile arrives
constexpr double kSplitKReduction = 2500;
constexpr double kElementStore = 0.1;  // of an element of D that is stored alone

// Multiply-adds of mma.sync per cycle of an SM. Those of operands that are converted first are
// fitted: they include what the conversion adds.
double multiply_adds(const Problem& problem, mma::Products how, int arch) {
  const GpuFacts& facts = gpu_facts(arch);
  if (problem.a.type == DataType::kF64) {
    return facts.mma_sync_f64;
  }
  const double rate = facts.mma_sync_f16;
  switch (how) {
    case mma::Products::kTf32:
      return rate / 2;
    case mma::Products::kEmulated:
      return rate / 14;
    case mma::Products::kAsF16:
      return rate / 2.7;
    case mma::Products::kDirect:
      break;
  }
  return size_bytes(problem.a.type) == 1 ? 2 * rate : rate;
}

// The instructions with which all threads together copy an operand's k tile to shared memory.
double instructions_of_copy(const MmaShape& shape, int alignment, double bytes) {
  constexpr double kInstructionsOfCopy = 29;
  constexpr double kInstructionsOfVector = 170;
  const double copies = bytes / shape.copy_bytes(alignment);
  return copies *
         (mma::copies_asynchronously(alignment) ? kInstructionsOfCopy : kInstructionsOfVector);
}

// The cycles that a CTA waits for elements that are copied through registers: in each step of the
// mainloop until they have arrived, so more stages do not help. K tiles that are loaded at once are
// waited for once; the first one arrives in kStartOfCta.
double register_copy_wait(const MmaShape& shape, double k_tiles) {
  constexpr double kStage = 380;  // the instructions that fill a stage
  const int waits =
      std::min(shape.steps(), std::max(shape.vectors_of_thread(shape.block_m, shape.alignment_a),
                                       shape.vectors_of_thread(shape.block_n, shape.alignment_b)));
  const double before_loop = std::min(k_tiles, std::max(shape.stages - 1.0, 1.0));
  const double at_once = shape.loads_k_tile_at_once() ? before_loop : 0;
  return waits == 0
             ? 0
             : kMemoryLatency * (waits * (k_tiles - at_once) + at_once - 1) + kStage * shape.stages;
}

// The cycles of one k tile of a CTA that shares its SM. They depend mostly on the slowest of tensor
// cores, instruction issue, shared memory and L2.
double cycles_of_k_tile(const Problem& problem, const MmaShape& shape, const DeviceLimits& limits) {
  const double tile = static_cast<double>(shape.block_m) * shape.block_n * shape.block_k;
  const double bytes_of_k = static_cast<double>(shape.block_k) * shape.element_bytes;
  const double bytes_a = shape.block_m * bytes_of_k, bytes_b = shape.block_n * bytes_of_k;

  const double tensor = tile / multiply_adds(problem, shape.products, limits.arch);
  const double fragment_bytes = shape.warps() * (shape.warp_m + shape.warp_n) * bytes_of_k;
  const double shared = (fragment_bytes + bytes_a + bytes_b) / kSharedBytesPerCycle;
  const double l2 = (bytes_a + bytes_b) / kL2BytesPerCycle;

  // An instruction adds products over 32 bytes of K to 16 x 8 accumulators; four schedulers each
  // issue one instruction per cycle.
  const double instructions_of_products = tile * shape.element_bytes / (16 * 8 * 32) *
                                          (shape.products == mma::Products::kEmulated ? 5 : 1);
  const double converted = shape.products == mma::Products::kDirect ? 0 : fragment_bytes / 128 * 8;
  const double copied = (instructions_of_copy(shape, shape.alignment_a, bytes_a) +
                         instructions_of_copy(shape, shape.alignment_b, bytes_b)) /
                        32;
  const double loaded = fragment_bytes / 512 * 6.7;
  const double issue = (instructions_of_products + converted + copied + loaded) / 4;
  // These times overlap, but never perfectly. They overlap least if a warp loads its next fragments
  // only after it has multiplied the current ones (f64 4096^3, H200, 2026-11-22: 2318 us with 8
  // warps of 32 x 32; 2505 us with 4 warps of 64 x 32, which have no registers for the fragments of
  // two steps).
  const bool alternates = problem.a.type == DataType::kF64 && !shape.has_two_buffers();
  return std::max({tensor, issue, shared, l2}) + (tensor + issue + shared + l2) / 20 +
         (alternates ? shared / 3 : 0);
}

// The bytes read from memory. Concurrent CTAs share their loads through L2; later CTAs find little
// in L2.
double bytes_read(const Problem& problem, const MmaShape& shape, double concurrent) {
  const Tiling tiles = shape.tiles(problem);
  const auto tiles_m = static_cast<double>(tiles.tiles_m);
  const auto tiles_n = static_cast<double>(tiles.tiles_n);
  const double at_a_time = std::clamp(concurrent / shape.split_k, 1.0, tiles_m * tiles_n);
  const double columns = std::min(tiles_n, at_a_time / std::min<double>(shape.group_m, tiles_m));
  const double rows = std::min(tiles_m, at_a_time / columns);
  const double row_bytes = static_cast<double>(problem.k) * shape.element_bytes;
  return tiles_m * tiles_n / at_a_time * static_cast<double>(problem.batch) * row_bytes *
         (rows * shape.block_m + columns * shape.block_n);
}

}  // namespace

double mma_us(const Problem& problem, const MmaShape& shape, const DeviceLimits& limits) {
  const Tiling tiles = shape.tiles(problem);
  const std::int64_t ctas = tiles.blocks().value_or(1);
  const auto k_tiles =
      static_cast<double>(ceil_divide(ceil_divide(problem.k, shape.block_k), shape.split_k));
  const double tile_cycles = cycles_of_k_tile(problem, shape, limits);

  // A CTA that is alone on its SM uses only the schedulers of its own warps, and no other CTA hides
  // its barriers and latencies. Without a pipeline, it waits for every k tile but the first one,
  // which kStartOfCta includes.
  const double latency = shape.stages == 1 ? kLatencyOfTile * std::max(1 - 1 / k_tiles, 0.0)
                                           : kLatencyOfTile / (shape.stages - 1);
  const double barrier = problem.a.type == DataType::kF64 ? kBarrierOfLongTile : kBarrierOfTile;
  const double busy = tile_cycles * std::max(1.0, 4.0 / shape.warps()) + barrier;
  const double alone = shape.stages == 1 ? busy + latency : std::max(busy + latency / 20, latency);
  const bool stores_vectors =
      problem.d.alignment_bytes * shape.accumulator_bytes >= 16 * size_bytes(problem.d.type);
  const auto tile_of_d = static_cast<double>(shape.block_m) * shape.block_n;
  const double epilogue = 400 + tile_of_d * (2.0 * shape.accumulator_bytes / kSharedBytesPerCycle +
                                             static_cast<double>(size_bytes(problem.d.type)) / 24 +
                                             (stores_vectors ? 0 : kElementStore));
  const double epilogue_wait = shape.warp_m * shape.warp_n / 32.0 *
                               part_inside(problem, shape.warp_m, shape.warp_n) *
                               epilogue_cycles_of_element(problem);
  const auto cycles_of = [&](double concurrent) {
    const double mainloop = std::max(k_tiles * concurrent * tile_cycles,
                                     k_tiles * alone + register_copy_wait(shape, k_tiles));
    return kStartOfCta + mainloop + concurrent * epilogue + epilogue_wait;
  };
  const int resident =
      blocks_per_sm(shape.threads(), shape.registers(), shape.shared_bytes(), limits);
  double cycles = cycles_of_waves(ctas, resident, limits, cycles_of);
  if (shape.split_k > 1) {
    // The last CTA reads all partial tiles, its own included.
    const double partial = static_cast<double>(shape.partial_tile_bytes());
    cycles += kSplitKReduction + (shape.split_k + 1) * partial / kL2BytesPerCycle;
  }
  const double least = minimum_bytes(problem);
  const bool stays_in_cache = least < static_cast<double>(limits.l2_bytes);
  const double concurrent = static_cast<double>(resident) * limits.sm_count;
  const double read = bytes_read(problem, shape, concurrent);
  const double memory = memory_us(stays_in_cache ? least : std::max(least, read), limits);
  const double compute = cycles_us(cycles, limits);
  // Computing and reading overlap, but not perfectly.
  return kLaunchUs + std::max(compute, memory) + std::min(compute, memory) / 20;
}

}  // namespace tunedgemm::internal
