#pragma once

// The kernel's Shape of a problem and a config, with what only the host asks: is it legal, in how
// many blocks is it launched.

#include <cstdint>
#include <string>

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

}  // namespace tunedgemm::internal
