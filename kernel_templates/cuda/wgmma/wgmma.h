#pragma once

// The host code of wgmma: the kernel's Shape for a problem and a config, and whether the Shape is
// legal; the configs worth trying; their cost; and the values of the structs in
// kernel_parameters.cuh.

#include <cstdint>
#include <string>
#include <vector>

#include "kernel_templates/cuda/geometry.h"
#include "kernel_templates/cuda/wgmma/kernel_parameters.cuh"
#include "kernel_templates/cuda/wgmma/shape.h"
#include "kernel_templates/device_limits.h"
#include "kernel_templates/problem/config.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// The only architecture of the family, as in DeviceLimits::arch.
inline constexpr int kWgmmaArch = 90;

/// The problem that a kernel with this config computes: the transposed problem if the config swaps
/// A and B. All functions below take this problem unless they say otherwise.
Problem problem_of_kernel(const Problem& problem, const Config& config);

/// The groups of rows for which a kernel has room; 0: rows are not grouped. Problems with similar
/// numbers of groups share kernels.
int table_groups(const Problem& problem);

/// The kernel's Shape for a problem and a config. The config must have all knobs of the family. A
/// plain value.
struct WgmmaShape : wgmma::Shape, wgmma::OtherKnobs {
  WgmmaShape(const Problem& problem, const wgmma::Shape& knobs);
  WgmmaShape(const Problem& problem, const Config& config);

  /// The rows of A (loaded_m) and columns of B (loaded_n) for which a k tile has room in shared
  /// memory, since tiles consist of whole swizzle atoms.
  int loaded_m() const { return tile_bytes(loaded_tile_a()) / bytes_along_k(); }
  int loaded_n() const { return tile_bytes(loaded_tile_b()) / bytes_along_k(); }

  /// The work tiles: one for each split-K slice of a cluster of tiles. A cluster may be partly
  /// outside D.
  Tiling clusters(const Problem& problem) const;
  /// The partial tiles of split-K: one for each consumer that holds accumulators of a tile.
  Tiling partial_tiles(const Problem& problem) const;
  std::int64_t partial_tile_bytes() const {
    return std::int64_t{accumulator_bytes()} * block_m * block_n / consumers_of_tile();
  }
  /// The number of clusters in one wave.
  std::int64_t clusters_of_wave(const DeviceLimits& limits) const;
  /// The most work tiles that the groups of rows may need. Takes the requested problem.
  Tiling most_clusters(const Problem& requested) const;
  /// The number of CTAs of the persistent grid: at most one wave.
  std::int64_t grid(const Problem& problem, const DeviceLimits& limits) const;
};

Config config_of(const WgmmaShape& shape);

/// Why wgmma cannot multiply these types with these numerics and this K; empty if it can.
std::string why_not_wgmma_types(const Problem& problem);

/// Why the kernel cannot compute the problem with this shape; empty if it can. The kernel asserts
/// most of these conditions, too. Takes the requested problem, which the sentence describes.
std::string why_not_wgmma(const Problem& requested, const WgmmaShape& shape);

/// The stages that fit into shared memory, at most `most`.
int stages_that_fit(WgmmaShape shape, int most, const DeviceLimits& limits);

/// The configs worth trying: for every schedule, the tiles that it can compute, with as many stages
/// as fit; the transposed tile (swap_ab) if it may be faster; the clusters and rasterizations that
/// suit the tile; and the split-K slices that fill the device. Takes the requested problem. All
/// configs satisfy why_not_wgmma(); the family may refuse some because of the device.
std::vector<Config> wgmma_candidates(const Problem& problem, const DeviceLimits& limits);

/// How early copies begin: the cycles that products take between the start of a copy and its use.
double cycles_ahead(const WgmmaShape& shape);

/// The predicted time of a launch, good for ranking.
double wgmma_us(const Problem& problem, const WgmmaShape& shape, const DeviceLimits& limits);

/// Whether A or B has rows that TMA cannot copy. If so, the padding kernel (pad.cuh) copies the
/// operand first.
bool needs_padding(const Problem& problem);

/// The problem with the padded copies in place of the operands.
Problem padded(const Problem& problem);

/// Why the padded copies do not fit; empty if they do, or are not needed.
std::string why_not_padding(const Problem& problem, const DeviceLimits& limits);

/// The parameters of the padding kernel. The copies begin at the first aligned byte of the
/// workspace from `begin` on. All zero if nothing is padded. Precondition: why_not_padding is
/// empty.
OperandPadding operand_padding(const Problem& problem, std::int64_t begin);

/// The CTAs of the padding kernel. Precondition: needs_padding.
std::uint32_t padding_grid(const Problem& problem, const DeviceLimits& limits);

/// The end of the copies in the workspace if they begin at `begin`.
std::int64_t padding_end(const Problem& problem, std::int64_t begin);

/// The predicted time of the padding kernel; 0 if nothing is padded.
double padding_us(const Problem& problem, const DeviceLimits& limits);

/// Whether the GPCs of the device are known and fit into GpcClusterRanges.
bool ranges_fit(const DeviceLimits& limits);

/// Divides the ids of `clusters` clusters, each with `cluster` CTAs, among the GPCs, with one CTA
/// per SM. The device places clusters on the GPCs in turn, as long as a GPC has room. The ids are
/// divided in the same way. Precondition: ranges_fit, and at most kMostSms clusters.
GpcClusterRanges gpc_cluster_ranges(int clusters, int cluster, const DeviceLimits& limits);

}  // namespace tunedgemm::internal
