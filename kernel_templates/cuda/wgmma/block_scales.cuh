// The scales of blocks, which change along K, where a thread needs them: with its partial sums of a
// k tile. They are read from memory as they are, in any layout.
#pragma once

#include "../common/arguments.cuh"
#include "../common/scaling.cuh"
#include "shape.h"
#include "tile_scheduler.cuh"

using namespace tunedgemm::internal;

// The factors of partial sums of 64 x kColumns elements, for the rows and columns of a thread
// (ptx/wgmma.cuh): those of its two rows, times those of its columns. 128 columns or fewer have at
// most two scales of 128 columns each, and the first `columns_of_first` columns have the first one.
template <int kColumns>
struct BlockFactors {
  static constexpr bool kPerColumn = kScalingB == Scaling::kBlock1x128;
  static constexpr int kOfColumns = kPerColumn ? kColumns / 4 : 2;

  float rows[2];
  float columns[kOfColumns];
  int columns_of_first;

  // The factor of partial sum i.
  __device__ __forceinline__ float of_sum(int i) const {
    const float row = rows[i / 2 % 2];
    if constexpr (kPerColumn) {
      return row * columns[i / 4 * 2 + i % 2];
    } else {
      const float first = row * columns[0], second = row * columns[1];
      return i / 4 * 8 < columns_of_first ? first : second;
    }
  }

  // Loads the factors of rows from m0 and columns from n0 on. Rows and columns outside D take those
  // of the last ones.
  __device__ __forceinline__ void load(const Arguments& arguments, int batch_index, int m0, int n0,
                                       int k) {
    static_assert(kColumns <= 128, "more columns may have more than two scales");
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    const int last_m = static_cast<int>(arguments.m) - 1,
              last_n = static_cast<int>(arguments.n) - 1;
    const auto of_column = [&](int n) {
      return scaled_b(arguments, batch_index, k, min(n, last_n), 1.0f);
    };
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int m = m0 + 16 * warp + lane / 4 + 8 * i;
      rows[i] = scaled_a(arguments, batch_index, min(m, last_m), k, 1.0f);
    }
    if constexpr (kPerColumn) {
      int n = n0 + lane % 4 * 2;
      asm volatile("" : "+r"(n));  // otherwise all addresses would be kept in registers
#pragma unroll
      for (int i = 0; i < kOfColumns; ++i) {
        columns[i] = of_column(n + i / 2 * 8 + i % 2);
      }
    } else {
      columns_of_first = kColumnsOfScaleB - n0 % kColumnsOfScaleB;
      columns[0] = of_column(n0);
      columns[1] = of_column(n0 + columns_of_first);
    }
  }
};
