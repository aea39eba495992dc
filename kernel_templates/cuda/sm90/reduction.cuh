// The parts of a tile of D that warpgroups hold (parts.cuh), as slices of columns.
//
//   int slice = hand_in(tile, part, waits, &sums[0][0]);
//   for (; slice < kSlices; slice = next_slice(tile)) {
//     Slice of_slice;
//     add_parts(tile, slice, of_slice);      columns slice_column(slice) on
//   }                                        of the row block slice_row_block(slice)
//
// Expects kBlockN, kRowBlocks, kSplitK as constants.
#pragma once

#include "../common/problem.cuh"
#include "../common/store.cuh"
#include "../ptx/warpgroup.cuh"

// Slices are of one width, which differs from the tile's by a multiple of 16 columns: the one with
// which all are added soonest when every part's team takes its share, and taking a slice costs as
// much as adding so many columns.
constexpr int kCostOfTaking = 64;
__host__ __device__ constexpr int columns_of_slice(int block_n, int row_blocks, int split_k) {
  int best = block_n, least = 1 << 30;
  for (int columns = block_n; columns >= 16; columns -= 16) {
    const int slices = block_n / columns * row_blocks;
    const int duration = (slices + split_k - 1) / split_k * (kCostOfTaking + columns);
    if (block_n % columns == 0 && duration < least) {
      best = columns;
      least = duration;
    }
  }
  return best;
}
// All columns where K is not split.
constexpr int kSliceColumns =
    kSplitK == 1 ? kBlockN : columns_of_slice(kBlockN, kRowBlocks, kSplitK);
#ifndef SLICE_COLUMNS
#define SLICE_COLUMNS kSliceColumns
#endif
static_assert(SLICE_COLUMNS == kSliceColumns,
              "SLICE_COLUMNS must be the width with which split_k parts of block_n columns are "
              "added soonest");
constexpr int kSlicesOfRowBlock = kBlockN / kSliceColumns;
constexpr int kSlices = kRowBlocks * kSlicesOfRowBlock;
using Slice = Accumulator[kSliceColumns / 2];  // a thread's part of it
__device__ __forceinline__ int slice_row_block(int slice) {
  return slice / kSlicesOfRowBlock;
}
__device__ __forceinline__ int slice_column(int slice) {
  return slice % kSlicesOfRowBlock * kSliceColumns;
}

#include "../common/split_k_reduction.cuh"  // needs kSlices

constexpr int kTeamThreads = kWarpgroup;
constexpr int kPartElements = kTeamThreads * kSlices * kSliceColumns / 2;

// A thread's sums in a part, in runs of 16 bytes. Threads' runs lie side by side, so a thread's
// next one is as many places further as there are threads.
constexpr int kRunsOfSlice = kSliceColumns / 2 / kVectorElements;
constexpr int kRunsOfPart = kSlices * kRunsOfSlice;
__device__ __forceinline__ float4* runs_from(const TileOfParts& tile, int part, int slice) {
  const int runs = part * kRunsOfPart + slice * kRunsOfSlice;
  return reinterpret_cast<float4*>(tile.partials) + runs * kTeamThreads + tile.team.thread;
}

__device__ __forceinline__ int hand_in(const TileOfParts& tile, int part, bool waits,
                                       const Accumulator* sums) {
  float4* const runs = runs_from(tile, part, 0);
#pragma unroll
  for (int run = 0; run < kRunsOfPart; ++run) {
    AccumulatorVector of_sums;
#pragma unroll
    for (int i = 0; i < kVectorElements; ++i) {
      of_sums.element[i] = sums[run * kVectorElements + i];
    }
    __stcg(runs + run * kTeamThreads, reinterpret_cast<const float4&>(of_sums));
  }
  return begin_adding(tile, waits);
}

// The sums of a slice, over all parts; several parts are on their way at a time.
constexpr int kRunsAtOnce = 16;
constexpr int kPartsAtOnce = kRunsOfSlice >= kRunsAtOnce ? 1 : kRunsAtOnce / kRunsOfSlice;
__device__ __forceinline__ void add_parts(const TileOfParts& tile, int slice, Slice& sums) {
#pragma unroll
  for (int i = 0; i < kSliceColumns / 2; ++i) {
    sums[i] = 0;
  }
#pragma unroll 1
  for (int first = 0; first < kSplitK; first += kPartsAtOnce) {
    const float4* const from = runs_from(tile, first, slice);
    float4 runs[kPartsAtOnce][kRunsOfSlice];
#pragma unroll
    for (int part = 0; part < kPartsAtOnce; ++part) {
#pragma unroll
      for (int run = 0; run < kRunsOfSlice; ++run) {
        if (first + part < kSplitK) {
          runs[part][run] = __ldcg(from + (part * kRunsOfPart + run) * kTeamThreads);
        }
      }
    }
#pragma unroll
    for (int part = 0; part < kPartsAtOnce; ++part) {
#pragma unroll
      for (int run = 0; run < kRunsOfSlice; ++run) {
        if (first + part < kSplitK) {
          const auto& of_part = reinterpret_cast<const AccumulatorVector&>(runs[part][run]);
#pragma unroll
          for (int i = 0; i < kVectorElements; ++i) {
            add(of_part.element[i], sums[run * kVectorElements + i]);
          }
        }
      }
    }
  }
}
