#pragma once

// The numbers that follow from a problem and a config of the mma family by the formulas of mma.cu,
// and what they cost.

#include <cstdint>

#include "kernel_templates/device_limits.h"
#include "kernel_templates/geometry.h"
#include "kernel_templates/problem/config.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm {

constexpr int kLeastMmaArch = 80;
constexpr int kMaxMmaWarps = 16;

/// How mma.cu makes products of elements: the type whose instruction it uses, and how often.
enum class Products {
  kAsTheyAre,  ///< f64, f16, bf16, s8, and fp8 where there is an instruction
  kTf32,       ///< f32 rounded
  kEmulated,   ///< f32 as three bf16
  kWidened,    ///< fp8 as f16
};
Products products(const Problem& problem, const DeviceLimits& limits);

/// A plain value. The config has all knobs of the family.
struct MmaNumbers {
  MmaNumbers(const Problem& problem, const Config& config);

  int warps() const { return block_m / warp_m * (block_n / warp_n); }
  std::int64_t shared_bytes() const;
  std::int64_t partial_tile_bytes() const;
  /// About what the compiler needs, a thread. Precondition: warps() > 0.
  int registers(Products how) const;
  /// A warp has room for the fragments of two steps: it reads those of the next one while it
  /// multiplies.
  bool has_two_buffers(Products how) const;
  Tiling tiles(const Problem& problem) const { return tiling(problem, block_m, block_n, split_k); }

  int block_m, block_n, block_k, warp_m, warp_n, stages, group_m, split_k;
  int element_bytes, sum_bytes;
  int step_bytes;  ///< of a row of A that a step along K takes
  int alignment_a, alignment_b;

 private:
  int fragment_registers() const;  ///< of one step
  int sum_and_factor_registers(Products how) const;
};

/// The time of a launch, from these numbers. Good for ranking.
double mma_us(const Problem& problem, const MmaNumbers& numbers, const DeviceLimits& limits);

}  // namespace tunedgemm
