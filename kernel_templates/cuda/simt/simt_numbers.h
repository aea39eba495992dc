#pragma once

// The numbers behind a config of simt, by the formulas of simt.cu, and what they cost.

#include <cstdint>

#include "kernel_templates/device_limits.h"
#include "kernel_templates/geometry.h"
#include "kernel_templates/problem/config.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm {

struct SimtNumbers {
  SimtNumbers(const Problem& problem, const Config& config);

  std::int64_t shared_bytes() const;
  std::int64_t partial_tile_bytes() const;
  Tiling tiles(const Problem& problem) const;
  /// About how many a thread needs: sums, fragments of two k, what is on its way, and the rest.
  /// Precondition: threads > 0.
  int registers(const Problem& problem) const;
  /// How many blocks the compiler is asked to leave room for on an SM.
  int blocks_on_sm(const Problem& problem, const DeviceLimits& limits) const;

  int block_m, block_n, block_k, warp_m, warp_n, thread_m, thread_n, stages;
  bool async_copy;
  int split_k;
  DataType sums;
  int sum_bytes;
  int threads;
};

double simt_us(const Problem& problem, const SimtNumbers& numbers, const DeviceLimits& limits);

}  // namespace tunedgemm
