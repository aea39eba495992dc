#pragma once

// The numbers that follow from a problem and a config of the wgmma family by the formulas of
// wgmma.cu.

#include <cstdint>
#include <string>

#include "kernel_templates/device_limits.h"
#include "kernel_templates/geometry.h"
#include "kernel_templates/problem/config.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm {

// The limits of knobs, and the step of block_n.
constexpr int kMostWgmmaStages = 12, kMostWgmmaSplits = 16;
constexpr int kLeastWgmmaWidth = 16, kMostWgmmaWidth = 256, kWgmmaWidthStep = 8;
/// Of a line: of tiles in shared memory (sm90/shared_tiles.cuh), and of the L2 cache.
constexpr int kWgmmaLineBytes = 128;

/// What a kernel with this config is told of the problem: its transpose, where the config swaps A
/// and B. All problems below are such but where it says otherwise.
Problem told_to_wgmma(const Problem& problem, const Config& config);

/// A plain value. The config has all knobs of the family.
struct WgmmaNumbers {
  WgmmaNumbers(const Problem& problem, const Config& config);

  int block_m, block_n, block_k, stages, epilogue_stages, consumers;
  bool ping_pong;
  int cluster_m, cluster_n, group_m;
  bool raster_along_n, gpc_aware;
  int split_k, in_flight;
  bool tensor_store;
  bool swap_ab;
  int element_bytes, element_bytes_d;
  bool promotes;
  /// Rows of A and columns of B that a tile takes in shared memory: lines are loaded whole.
  int loaded_m, loaded_n;
  /// Products take 8 and 32 bits along K only: others are turned in shared memory, or A is read by
  /// the threads that multiply.
  bool turns_a, turns_b, registers_a;

  /// What block_n must be a multiple of.
  int width_step;

  int cluster() const { return cluster_m * cluster_n; }
  int threads() const { return 128 * (1 + consumers); }
  int rows_of_consumer() const { return ping_pong ? block_m : block_m / consumers; }
  /// Registers of a thread that hold A, beyond those of one row block, for which there is room.
  int fragments() const { return registers_a ? 32 * (rows_of_consumer() / 64 - 1) : 0; }
  /// Columns of sums that leave together: where K is split, a part of the tile's
  /// (sm90/reduction.cuh).
  int columns_of_slice() const;
  /// Those of them that leave by tensor copies, in blocks.
  int columns_of_copies() const { return columns_of_slice() / 16 * 16; }
  /// Accumulators of a thread, and fragments.
  int sums() const;
  /// Partial tiles of a tile of D.
  int teams() const { return ping_pong ? 1 : consumers; }
  std::int64_t stage_bytes() const;
  std::int64_t shared_bytes() const;
  /// Whole clusters of tiles, also where one lies outside D in part.
  Tiling clusters(const Problem& problem) const;
  /// In units of a team's partial tile.
  Tiling partial_tiles(const Problem& problem) const;
  std::int64_t partial_tile_bytes() const { return std::int64_t{4} * block_m * block_n / teams(); }
  /// Clusters that the device computes at a time.
  std::int64_t clusters_at_a_time(const DeviceLimits& limits) const;
  /// Blocks of the persistent grid: what runs at a time, what there is to do, or as many as end in
  /// as many rounds.
  std::int64_t grid(const Problem& problem, const DeviceLimits& limits) const;
};

/// The static_asserts of wgmma.cu, part 3, as sentences; empty if all hold. The problem is as
/// asked, and so the sentences tell it.
std::string why_not_wgmma(const Problem& asked, const WgmmaNumbers& numbers);

/// The most stages that fit, at most `most`.
int stages_that_fit(const WgmmaNumbers& numbers, int most, const DeviceLimits& limits);

}  // namespace tunedgemm
