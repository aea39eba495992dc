#pragma once

// How a problem is cut into the blocks of a GPU, and the terms of which the cost models of the CUDA
// families are made.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "kernel_templates/device_limits.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

constexpr std::int64_t kMaxGridX = 2147483647;
constexpr std::int64_t kMaxGridYZ = 65535;

constexpr std::int64_t ceil_divide(std::int64_t dividend, std::int64_t divisor) {
  return dividend / divisor + (dividend % divisor != 0 ? 1 : 0);
}
constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return ceil_divide(value, multiple) * multiple;
}

/// The tiles of D, and the blocks that compute them: one a tile, split-K slice and batch entry.
struct Tiling {
  std::int64_t tiles_m = 1, tiles_n = 1, batch = 1, split_k = 1;

  /// Empty if they are more than a one-dimensional grid holds.
  std::optional<std::int64_t> blocks() const;
  /// Tiles of D over the whole batch. Precondition: blocks() is not empty.
  std::int64_t tiles() const { return tiles_m * tiles_n * batch; }
};
Tiling tiling(const Problem& problem, int block_m, int block_n, int split_k = 1);

/// The workspace of a kernel that splits K: the counters, one of 4 bytes a tile of D, then every
/// block's partial tile. 0 for split_k = 1. The kernels' half is cuda/common/split_k.cuh.
std::int64_t split_workspace_bytes(const Tiling& tiling, std::int64_t partial_tile_bytes);

/// Sentences for Family::instantiate, empty if all is well.
std::string why_not_cuda(const DeviceLimits& limits, int least_arch = 0);
std::string why_not_block(int threads, int registers_per_thread, std::int64_t shared_bytes,
                          const DeviceLimits& limits);
/// Blocks beyond the grid, split-K slices that would be empty, more counters than there is room
/// for, and a workspace larger than a quarter of the memory.
std::string why_not_tiling(const Problem& problem, const Tiling& tiling, int block_k,
                           std::int64_t partial_tile_bytes, const DeviceLimits& limits);

/// Blocks of this size that one SM holds at a time: at least 1.
int blocks_per_sm(int threads, int registers_per_thread, std::int64_t shared_bytes,
                  const DeviceLimits& limits);

/// Multiply-adds that the CUDA cores of one SM do in a cycle (cuda/gpu_facts.h).
double multiply_adds_per_cycle(DataType accumulator, int arch);

/// The time from a launch to its end when there is nothing to do, inside a graph.
constexpr double kLaunchUs = 2.0;

/// The time to move these bytes between the memory and the chip. Like cycles_us(), it takes the
/// usual value (cuda/gpu_facts.h) where the limits say 0.
double memory_us(double bytes, const DeviceLimits& limits);

/// `cycles` of one SM as microseconds.
double cycles_us(double cycles, const DeviceLimits& limits);

/// The cycles of the SM that computes most of the blocks, `resident` at a time: full waves, then a
/// wave of what is left. `cycles_of(n)` are those of n blocks side by side.
double cycles_of_waves(std::int64_t blocks, int resident, const DeviceLimits& limits,
                       const std::function<double(double)>& cycles_of);

}  // namespace tunedgemm::internal
