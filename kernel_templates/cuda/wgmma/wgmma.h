#pragma once

// The host half of wgmma: the kernel's Shape of a problem and a config, with what only the host
// asks: is it legal, in how many blocks is it launched; which configs are worth trying; what they
// cost; and the parameters of kernel_parameters.cuh.

#include <cstdint>
#include <string>
#include <vector>

#include "kernel_templates/cuda/wgmma/kernel_parameters.cuh"
#include "kernel_templates/cuda/wgmma/shape.h"
#include "kernel_templates/device_limits.h"
#include "kernel_templates/geometry.h"
#include "kernel_templates/problem/config.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// The problem that a kernel with this config computes: the transposed one, where the config swaps
/// A and B. All problems below are such but where it says otherwise.
Problem problem_of_kernel(const Problem& problem, const Config& config);

/// A plain value. The config has all knobs of the family.
struct WgmmaShape : wgmma::Shape {
  WgmmaShape(const Problem& problem, const Config& config);

  int group_m;
  bool raster_along_n, gpc_aware;

  /// Rows of A and columns of B that a tile takes in shared memory: whole swizzle atoms are loaded.
  int loaded_m() const { return tile_bytes(loaded_tile_a()) / bytes_along_k(); }
  int loaded_n() const { return tile_bytes(loaded_tile_b()) / bytes_along_k(); }

  /// Whole clusters of tiles, also where one lies outside D in part.
  Tiling clusters(const Problem& problem) const;
  /// In units of a consumer's partial tile.
  Tiling partial_tiles(const Problem& problem) const;
  std::int64_t partial_tile_bytes() const {
    return std::int64_t{4} * block_m * block_n / consumers_of_tile();
  }
  /// Clusters that the device computes in one wave.
  std::int64_t clusters_of_wave(const DeviceLimits& limits) const;
  /// Blocks of the persistent grid: a wave, what there is to do, or as many as end in as many
  /// waves.
  std::int64_t grid(const Problem& problem, const DeviceLimits& limits) const;
};

/// The static_asserts of the kernel as sentences; empty if all hold. The problem is as asked, and
/// so the sentences tell it.
std::string why_not_wgmma(const Problem& asked, const WgmmaShape& shape);

/// The most stages that fit, at most `most`.
int stages_that_fit(const WgmmaShape& shape, int most, const DeviceLimits& limits);

/// A choice out of all that is legal: every tile that has its schedule's shape, with as many stages
/// as fit, its transpose (swap_ab) where that may gain, the clusters and the orders of tiles that
/// suit it, and the split-K slices that fill the device. All keep to why_not_wgmma(); the family
/// may refuse some for the device's sake.
std::vector<Config> wgmma_candidates(const Problem& problem, const DeviceLimits& limits);

/// How long the products of those stages take that are being filled while others are multiplied.
double cycles_ahead(const WgmmaShape& shape);

/// The time of a launch. Good for ranking.
double wgmma_us(const Problem& problem, const WgmmaShape& shape, const DeviceLimits& limits);

/// Of the padding of operands (pad.cuh) the problem is the kernel's, transposed where the config
/// swaps A and B. Whether A or B has rows that tensor copies do not take.
bool needs_padding(const Problem& problem);

/// The problem as the kernel that multiplies finds it: operands that are padded lie in their
/// copies.
Problem padded(const Problem& problem);

/// Why the copies have no place; empty if they have, or are not needed.
std::string why_not_padding(const Problem& problem, const DeviceLimits& limits);

/// The copies begin at byte `begin` of the workspace or a little later. All zero if nothing is
/// padded. Precondition: why_not_padding is empty.
OperandPadding operand_padding(const Problem& problem, std::int64_t begin);

/// CTAs of the kernel that copies. Precondition: needs_padding.
std::uint32_t padding_grid(const Problem& problem, const DeviceLimits& limits);

/// Of the copies, from `begin` on.
std::int64_t padding_end(const Problem& problem, std::int64_t begin);

/// 0 if nothing is padded.
double padding_us(const Problem& problem, const DeviceLimits& limits);

/// Whether the device's GPCs are known, and GpcClusterRanges has room for them.
bool ranges_fit(const DeviceLimits& limits);

/// A cluster id for each of `clusters` clusters of `cluster` blocks, of which an SM runs one at a
/// time. Blocks are started on one GPC after the other as long as they have room, so that is how
/// the ids are divided. Precondition: ranges_fit, and there are at most kMostSms clusters.
GpcClusterRanges gpc_cluster_ranges(int clusters, int cluster, const DeviceLimits& limits);

}  // namespace tunedgemm::internal
