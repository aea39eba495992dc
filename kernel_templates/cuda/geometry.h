#pragma once

// Tiling, the division of a problem into CTAs, and the common parts of the CUDA families'
// constraints and cost models.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "kernel_templates/base/division.h"
#include "kernel_templates/device_limits.h"
#include "kernel_templates/launch.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

constexpr std::int64_t kMaxGridX = 2147483647;
constexpr std::int64_t kMaxGridYZ = 65535;

/// The tiles of D and the CTAs that compute them: one CTA for each tile, split-K slice and batch
/// entry.
struct Tiling {
  std::int64_t tiles_m = 1, tiles_n = 1, batch = 1, split_k = 1;

  /// The number of CTAs; empty if a one-dimensional grid cannot hold them.
  std::optional<std::int64_t> blocks() const;
  /// The tiles of D in the whole batch. Precondition: blocks() is not empty.
  std::int64_t tiles() const { return tiles_m * tiles_n * batch; }
};
/// Groups of rows count as one batch index, with as many rows of tiles as they may need: each may
/// have a partial tile.
Tiling tiling(const Problem& problem, int block_m, int block_n, int split_k = 1);

/// The size of a split-K kernel's workspace (cuda/common/split_k.cuh): kWorkspaceCounterBytes for
/// the counters, however many tiles D has, and a partial tile for each CTA. 0 if split_k is 1.
std::int64_t split_workspace_bytes(const Tiling& tiling, std::int64_t partial_tile_bytes);

/// Each why_not function returns a sentence for Family::instantiate; empty if the config fits.
std::string why_not_cuda(const DeviceLimits& limits, int least_arch = 0);
std::string why_not_block(int threads, int registers_per_thread, std::int64_t shared_bytes,
                          const DeviceLimits& limits);
/// Refuses more CTAs than a grid holds, empty split-K slices, more tiles than the workspace has
/// counters, and a workspace larger than a quarter of the memory.
std::string why_not_tiling(const Problem& problem, const Tiling& tiling, int block_k,
                           std::int64_t partial_tile_bytes, const DeviceLimits& limits);

/// The CTAs of a launch for `work_tiles` work tiles: one for each, or as many as the limits allow.
std::int64_t ctas_for(std::int64_t work_tiles, const DeviceLimits& limits);

/// The launch of a kernel that needs a CTA of this size for each work tile. It has as many CTAs as
/// the limits allow. Precondition: why_not_tiling() is empty.
Launch tiled_launch(int threads, std::int64_t shared_bytes, const Tiling& tiling,
                    std::int64_t partial_tile_bytes, const DeviceLimits& limits);

/// The number of CTAs of this size that an SM runs at a time; at least 1. If the limits bound the
/// CTAs of a launch, they have an SM each.
int blocks_per_sm(int threads, int registers_per_thread, std::int64_t shared_bytes,
                  const DeviceLimits& limits);

/// Multiply-adds per cycle of the CUDA cores of one SM (cuda/gpu_facts.h).
double multiply_adds_per_cycle(DataType accumulator, int arch);

/// The duration of an empty launch inside a graph.
constexpr double kLaunchUs = 2.0;

/// The time to move these bytes between device memory and the chip. If the limits have no bandwidth
/// (0), uses the usual value of cuda/gpu_facts.h.
double memory_us(double bytes, const DeviceLimits& limits);

/// The time of `cycles` at the clock of the SMs. If the limits have no clock (0), uses the usual
/// value.
double cycles_us(double cycles, const DeviceLimits& limits);

/// The predicted time of a problem. That of a grouped product is the mean of those for which it is
/// tuned (kSkewedTurn); `us_of_batch` predicts the time of a batch.
double predicted_us(const Problem& problem,
                    const std::function<double(const Problem&)>& us_of_batch);

/// The cycles of the SM that has the most CTAs and runs `resident` at a time: full waves, then one
/// wave with the remainder. `cycles_of(n)` is the time of n resident CTAs.
double cycles_of_waves(std::int64_t blocks, int resident, const DeviceLimits& limits,
                       const std::function<double(double)>& cycles_of);

}  // namespace tunedgemm::internal
