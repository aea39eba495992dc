#include <algorithm>

#include "kernel_templates/cuda/families.h"
#include "kernel_templates/cuda/simt/simt.h"

namespace tunedgemm::internal {
namespace {

/// More warps per SM than this do not help.
constexpr int kWarpsWanted = 16;
/// An unrolled k tile with this many multiply-adds no longer fits in the instruction cache (f32
/// 4096^3, H200, 2026-11-22: 128 x 256 takes 2878 us with block_k=16, and 2736 us with block_k=8).
constexpr double kMultiplyAddsInInstructionCache = 2048;
constexpr double kInstructionCacheMiss = 1.07;
/// L2 bandwidth of an SM in bytes per cycle when all SMs load.
constexpr double kL2BytesPerCycle = 15;
// In this order, the cycles of: a barrier and the first fragments after it; storing registers to
// shared memory before a barrier; a CTA's prologue; storing an element of D.
constexpr double kBarrierCycles = 90;
constexpr double kStoreToSharedCycles = 300;
constexpr double kCtaCycles = 400;
constexpr double kStoreOfElement = 67;
/// From the start of a k tile's copy to its arrival.
constexpr double kLatencyOfTile = 1300;
/// The time from storing the first partial tile to adding the last one, without the memory traffic.
constexpr double kSplitKReductionUs = 2.8;

/// The loads from global memory, and the stores to shared memory, for the k tile of an operand.
struct CopyCost {
  double loads = 0, stores = 0;
};
CopyCost copy_cost(const simt::TileCopy& copy) {
  const int vector = copy.vector_elements();
  const double elements = static_cast<double>(copy.rows) * copy.block_k;
  const double loads = elements / vector;
  if (copy.async_copy) {
    return {loads, 0};
  }
  const bool stores_quads = !copy.is_k_major && vector * copy.accumulator_bytes >= simt::kQuadBytes;
  return {loads, stores_quads ? elements / 4 : elements};
}

/// The cycles of a k tile of a CTA that shares its SM. They depend mostly on the slowest of
/// arithmetic, instruction issue, shared memory and L2.
double cycles_of_k_tile(const Problem& problem, const SimtShape& shape,
                        const DeviceLimits& limits) {
  const double warps = shape.threads() / 32.0;
  const double quad = 16.0 / shape.accumulator_bytes;
  const double multiply_adds = static_cast<double>(shape.thread_m) * shape.thread_n * shape.block_k;
  const double fragment_loads = (shape.thread_m + shape.thread_n) / quad * shape.block_k;
  const CopyCost a = copy_cost(shape.copy_a()), b = copy_cost(shape.copy_b());
  const double loads = (a.loads + b.loads) / shape.threads();
  const double stores = (a.stores + b.stores) / shape.threads();

  const double rate =
      multiply_adds_per_cycle(accumulator(problem.a.type, problem.b.type), limits.arch);
  const double arithmetic = multiply_adds * shape.threads() / rate;
  // Four schedulers each issue one instruction per cycle; an address takes about four instructions.
  const double issued = multiply_adds + fragment_loads + 4 * loads + stores + 20;
  const bool loop_is_cached = multiply_adds < kMultiplyAddsInInstructionCache;
  const double issue = warps * issued / 4 * (loop_is_cached ? 1 : kInstructionCacheMiss);
  const double shared = warps * (2 * fragment_loads + 4 * loads + stores);
  const double l2_bytes = static_cast<double>(shape.block_m * size_bytes(problem.a.type) +
                                              shape.block_n * size_bytes(problem.b.type)) *
                          shape.block_k;
  const double l2 = l2_bytes / kL2BytesPerCycle;
  // These times overlap, but never perfectly.
  return std::max({arithmetic, issue, shared, l2}) + (arithmetic + issue + shared + l2) / 20;
}

}  // namespace

int SimtShape::blocks_on_sm(const DeviceLimits& limits) const {
  const int fit = blocks_per_sm(threads(), registers(), shared_bytes(), limits);
  return std::clamp(kWarpsWanted * 32 / threads(), 1, fit);
}

double simt_us(const Problem& problem, const SimtShape& shape, const DeviceLimits& limits) {
  const Tiling blocks = shape.tiles(problem);
  const std::int64_t k_tiles = ceil_divide(ceil_divide(problem.k, shape.block_k), blocks.split_k);
  const double k_tile_cycles = cycles_of_k_tile(problem, shape, limits);
  const double warps = shape.threads() / 32.0;

  // Resident CTAs hide part of the waiting at barriers.
  const int resident = shape.blocks_on_sm(limits);
  const double waiting = kBarrierCycles + (shape.async_copy ? 0 : kStoreToSharedCycles);
  const double elements_of_thread = static_cast<double>(shape.thread_m) * shape.thread_n *
                                    part_inside(problem, shape.block_m, shape.block_n);
  const double epilogue = elements_of_thread / static_cast<double>(blocks.split_k) *
                          (kStoreOfElement + epilogue_cycles_of_element(problem));
  const auto cycles_of = [&](double concurrent) {
    const double alone = std::max(k_tile_cycles * std::max(1.0, 4 / warps) + waiting,
                                  kLatencyOfTile / (shape.stages - 1));
    return static_cast<double>(k_tiles) * std::max(concurrent * k_tile_cycles, alone) + kCtaCycles +
           epilogue;
  };
  const double cycles = cycles_of_waves(blocks.blocks().value_or(1), resident, limits, cycles_of);

  const auto exchanged = split_workspace_bytes(blocks, shape.partial_tile_bytes());
  const double reduction_us =
      blocks.split_k > 1 ? kSplitKReductionUs + memory_us(static_cast<double>(exchanged), limits)
                         : 0.0;
  return kLaunchUs + reduction_us +
         std::max(cycles_us(cycles, limits), memory_us(minimum_bytes(problem), limits));
}

}  // namespace tunedgemm::internal
