// The scales of blocks, which change along K. Those of a stage's tiles are copied to shared memory
// from any layout. The consumers multiply the sums of a k tile by them.
#pragma once

#include "../common/arguments.cuh"
#include "../common/scaling.cuh"
#include "../ptx/cp_async.cuh"
#include "../ptx/data_movement.cuh"
#include "pipeline.cuh"
#include "shape.h"
#include "tile_scheduler.cuh"

using namespace tunedgemm::internal;

// Each column of a tile has its own scale (kPerColumn), or 128 columns of B share one. Then a tile
// has at most three, which are copied as those of its first column, of the first column that does
// not share it, and of its last column.
constexpr bool kPerColumn = kScalingB == Scaling::kBlock1x128;
// How many columns of a tile share the scale of the first one, if the tile is wide enough.
__device__ __forceinline__ int columns_of_first_scale(const WorkTile& work) {
  return kColumnsOfScaleB - work.n0 % kColumnsOfScaleB;
}

// The copies of one of kCopyingThreads threads, k tile by k tile. Rows and columns outside D get
// the scales of others. Scales of rows that follow each other are copied four at a time: the copies
// share the bandwidth of shared memory with the tensor cores.
constexpr int kCopyingThreads = 32 * wgmma::kCompletingWarps;
template <wgmma::Shape kShape>
struct BlockScaleCopies {
  static constexpr int kRows = kHasBlocksA ? kShape.block_m : 0;
  static constexpr int kColumns = !kHasBlocksB ? 0 : kPerColumn ? kShape.block_n : 3;
  static constexpr int kVector = 4;

  const Arguments& arguments;
  int thread;
  bool copies_vectors =
      kScalingA == Scaling::kBlock1x128 && arguments.scale_stride_a == 1 &&
      arguments.m % kVector == 0 && arguments.scale_k_stride_a % kVector == 0 &&
      arguments.scale_batch_stride_a % kVector == 0 &&
      reinterpret_cast<unsigned long long>(arguments.scale_a) % (kVector * sizeof(float)) == 0;
  bool is_aligned = true;  // the work tile's first row, unless a group begins anywhere
  const float* row[wgmma::divided_up(kRows, kCopyingThreads) + 1];  // C++ has no empty array
  const float* column[wgmma::divided_up(kColumns, kCopyingThreads) + 1];

  __device__ __forceinline__ bool uses_vectors() const {
    return copies_vectors && (!kGroupsRows || is_aligned);
  }

  __device__ __forceinline__ void begin(const WorkTile& work) {
    is_aligned = work.m0 % kVector == 0;
    const int k = work.first_k_tile * kShape.block_k, vector = uses_vectors() ? kVector : 1;
#pragma unroll
    for (int i = 0; i * kCopyingThreads < kRows; ++i) {
      const int m = min(work.m0 + (i * kCopyingThreads + thread) * vector,
                        static_cast<int>(arguments.m) - vector);
      row[i] = arguments.scale_a + offset_scale_a(arguments, work.batch_index, m, k);
    }
#pragma unroll
    for (int i = 0; i * kCopyingThreads < kColumns; ++i) {
      const int index = i * kCopyingThreads + thread;
      const int column_of_tile = kPerColumn   ? index
                                 : index == 0 ? 0
                                 : index == 1
                                     ? min(columns_of_first_scale(work), kShape.block_n - 1)
                                     : kShape.block_n - 1;
      const int n = min(work.n0 + column_of_tile, static_cast<int>(arguments.n) - 1);
      column[i] = arguments.scale_b + offset_scale_b(arguments, work.batch_index, k, n);
    }
  }

  // Starts the copies for the next k tile.
  __device__ __forceinline__ void copy(const SharedMemory<kShape>& shared, int stage) {
    if (uses_vectors()) {
      if (kVector * thread < kRows) {
        copy_16_bytes(shared.scales_a(stage) + 4 * kVector * thread, row[0]);
      }
      row[0] += arguments.scale_k_stride_a;
    } else {
      copy_each<kRows>(shared.scales_a(stage), row, arguments.scale_k_stride_a);
    }
    copy_each<kColumns>(shared.scales_b(stage), column, arguments.scale_k_stride_b);
    arrive_after_copies(shared.full(stage));
  }

  template <int kCount>
  __device__ __forceinline__ void copy_each(unsigned to, const float** from,
                                            long long stride) const {
#pragma unroll
    for (int i = 0; i * kCopyingThreads < kCount; ++i) {
      const int index = i * kCopyingThreads + thread;
      if (index < kCount) {
        copy_4_bytes(to + 4 * index, from[i]);
      }
      from[i] += stride;
    }
  }
};

// The factors of partial sums of 64 x block_n elements, for the rows and columns of a thread
// (ptx/wgmma.cuh): those of its two rows, times those of its columns. kHasOne: if 128 columns have
// a scale, all have the first one.
template <wgmma::Shape kShape, bool kHasOne>
struct BlockFactors {
  static constexpr int kOfColumns = kPerColumn ? kShape.block_n / 4 : kHasOne ? 1 : 3;
  static constexpr bool kBeginsAnywhere = kGroupsRows && kShape.swap_ab;  // the tile, in a group
  static_assert(kShape.block_n <= 2 * kScaledDepth, "more columns may have more than 3 scales");

  float rows[2];
  float columns[kOfColumns];
  int columns_of_first;

  // The factor of partial sum i.
  __device__ __forceinline__ float of_sum(int i) const {
    const float row = rows[i / 2 % 2];
    if constexpr (kPerColumn) {
      return row * columns[i / 4 * 2 + i % 2];
    } else if constexpr (kHasOne) {
      return row * columns[0];
    } else {
      const int column = i / 4 * 8 + (kBeginsAnywhere ? threadIdx.x % 4 * 2 + i % 2 : 0);
      const bool is_beyond = column >= kColumnsOfScaleB;  // then the first scale is not its own
      const float first = row * columns[is_beyond], second = row * columns[1 + is_beyond];
      return column - kColumnsOfScaleB * is_beyond < columns_of_first ? first : second;
    }
  }

  // Loads the factors. `scales_a` begins with the scale of the first row.
  __device__ __forceinline__ void load(unsigned scales_a, unsigned scales_b) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    const auto load = [](unsigned from) { return __uint_as_float(load_shared(from)); };
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      rows[i] = kHasBlocksA ? load(scales_a + 4 * (16 * warp + lane / 4 + 8 * i)) : 1;
    }
#pragma unroll
    for (int i = 0; i < kOfColumns; ++i) {
      const int index = kPerColumn ? lane % 4 * 2 + i / 2 * 8 + i % 2 : i;
      columns[i] = kHasBlocksB ? load(scales_b + 4 * index) : 1;
    }
  }
};
