// Where K is split, several teams of threads hold sums of the same tile of D. They are added in one
// launch and with the same bits every time, whichever teams run at the same time: each stores its
// sums in the workspace. When all have, the tile is cut into slices of columns, and whoever is
// there takes one after the other, adds its parts in their order, and stores it: the team that came
// last, and those that waited for it. Nobody waits for long, so nobody waits for a team that has no
// room to run; the one that comes last never waits.
//
//   a word a tile, zero before and after:  slices taken | teams gone | teams arrived
//                                          bits 20..31    10..19       0..9
//
//   int slice = hand_in(tile, part, waits, &sums[0][0]);
//   for (; slice < kSlices; slice = next_slice(tile)) {
//     Slice of_slice;
//     add_parts(tile, slice, of_slice);      columns slice_column(slice) on
//   }                                        of the row block slice_row_block(slice)
//
// Expects kBlockN, kRowBlocks, kSplitK as constants.
#pragma once

#include "split_k.cuh"
#include "store.cuh"
#include "warpgroup.cuh"

// Slices are multiples of 16 columns, of one width: the one with which all are added soonest when
// every part's team takes its share, and taking a slice costs as much as adding so many columns.
constexpr int kCostOfTaking = 64;
__host__ __device__ constexpr int columns_of_slice(int block_n, int row_blocks, int split_k) {
  int best = block_n, least = 1 << 30;
  for (int columns = block_n; columns > 0; columns -= 16) {
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

constexpr unsigned kArrived = 1, kGone = 1 << 10, kTaken = 1 << 20;
static_assert(kSplitK < 1024 && kSlices + kSplitK < 4096,
              "split_k must be less than 1024, and less than 4096 with the slices of a tile");
__device__ __forceinline__ bool all_have_arrived(unsigned word) {
  return word % kGone / kArrived == kSplitK;
}
// All teams but one have left: by going, or by taking a slice that is not there.
__device__ __forceinline__ bool others_have_left(unsigned word) {
  const int taken = word / kTaken;
  return max(taken - kSlices, 0) + word % kTaken / kGone == kSplitK - 1;
}

constexpr int kTeamThreads = kWarpgroup;

// What a team knows of the tile.
struct TileOfParts {
  unsigned* word;
  Accumulator* partials;
  Team team;
  volatile int* shared;  // an int that nobody else uses at this time
};
__device__ __forceinline__ TileOfParts tile_of_parts(const Arguments& arguments, long long unit,
                                                     const Team& team, volatile int* shared) {
  return {static_cast<unsigned*>(arguments.workspace) + unit,
          partial_tile(arguments, unit, 0, kSplitK, kTeamThreads * kSlices * kSliceColumns / 2),
          team, shared};
}

// A thread's sums in a part, in runs of 16 bytes. Threads' runs lie side by side, so a thread's
// next one is as many places further as there are threads.
constexpr int kRunsOfSlice = kSliceColumns / 2 / kRun;
constexpr int kRunsOfPart = kSlices * kRunsOfSlice;
__device__ __forceinline__ float4* runs_from(const TileOfParts& tile, int part, int slice) {
  const int runs = part * kRunsOfPart + slice * kRunsOfSlice;
  return reinterpret_cast<float4*>(tile.partials) + runs * kTeamThreads + tile.team.thread;
}

// One thread.
__device__ __forceinline__ int take_slice(const TileOfParts& tile) {
  const unsigned word = atomicAdd(tile.word, kTaken);
  const int slice = word / kTaken;
  if (slice >= kSlices && others_have_left(word)) {
    *tile.word = 0;
  }
  return min(slice, kSlices);
}
// One thread, that of a team whose part is stored.
constexpr int kMostLooks = 16;  // each takes a way to the L2 cache and back
__device__ __forceinline__ int arrive_and_take_slice(const TileOfParts& tile, bool waits) {
  unsigned word = atomicAdd(tile.word, kArrived) + kArrived;
  for (int look = 0; waits && look < kMostLooks && !all_have_arrived(word); ++look) {
    word = *static_cast<volatile unsigned*>(tile.word);
  }
  if (all_have_arrived(word)) {
    return take_slice(tile);
  }
  if (others_have_left(atomicAdd(tile.word, kGone))) {
    *tile.word = 0;
  }
  return kSlices;
}

// Below: by all threads of a team. The slice that it is to add, or kSlices if there is none for it.
__device__ __forceinline__ int next_slice(const TileOfParts& tile) {
  if (tile.team.thread == 0) {
    *tile.shared = take_slice(tile);
  }
  meet(tile.team);
  const int slice = *tile.shared;
  meet(tile.team);
  return slice;
}
__device__ __forceinline__ int hand_in(const TileOfParts& tile, int part, bool waits,
                                       const Accumulator* sums) {
  float4* const runs = runs_from(tile, part, 0);
#pragma unroll
  for (int run = 0; run < kRunsOfPart; ++run) {
    RunOfSums of_sums;
#pragma unroll
    for (int i = 0; i < kRun; ++i) {
      of_sums.element[i] = sums[run * kRun + i];
    }
    __stcg(runs + run * kTeamThreads, reinterpret_cast<const float4&>(of_sums));
  }
  __threadfence();  // what this thread has stored is seen before the word changes
  meet(tile.team);
  if (tile.team.thread == 0) {
    *tile.shared = arrive_and_take_slice(tile, waits);
    __threadfence();  // and what the others have stored is seen after it
  }
  meet(tile.team);
  const int slice = *tile.shared;
  meet(tile.team);
  return slice;
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
          const auto& of_part = reinterpret_cast<const RunOfSums&>(runs[part][run]);
#pragma unroll
          for (int i = 0; i < kRun; ++i) {
            add(of_part.element[i], sums[run * kRun + i]);
          }
        }
      }
    }
  }
}
