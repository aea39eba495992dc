// A consumer's products with one tile along K, where both operands lie in shared memory. Expects
// the tile's numbers as constants.
#pragma once

#include "../ptx/wgmma.cuh"
#include "pipeline.cuh"

using Sums = Accumulator[kRowBlocks][kSumsOfRowBlock];
constexpr int kSteps = kBlockK * kElementBytes / 32;

// Where descriptors find the tiles of a stage.
__device__ __forceinline__ unsigned place_a(const Shared& shared, int stage) {
  return place_of(tile_a(shared, 0)) + stage * (kTileBytesA / 16);
}
__device__ __forceinline__ unsigned place_b(const Shared& shared, int stage) {
  return place_of(tile_b(shared, 0)) + stage * (kTileBytesB / 16);
}

__device__ __forceinline__ void multiply_row_block(const Shared& shared, int stage, int row,
                                                   bool keep,
                                                   Accumulator (&sums)[kSumsOfRowBlock]) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    multiply_async(TypeA(), TypeB(), keep || step > 0,
                   descriptor(kSlabsA, place_a(shared, stage), row, step),
                   descriptor(kSlabsB, place_b(shared, stage), 0, step), sums);
  }
}

// Of the row blocks from `first` to `end`, `row` the first of the consumer's rows.
__device__ __forceinline__ void multiply_row_blocks(const Shared& shared, int stage, int row,
                                                    bool keep, int first, int end, Sums& sums) {
#pragma unroll
  for (int block = first; block < end; ++block) {
    multiply_row_block(shared, stage, row + 64 * block, keep, sums[block]);
  }
}

__device__ __forceinline__ void clear(Sums& sums) {
#pragma unroll
  for (int i = 0; i < kRowBlocks * kSumsOfRowBlock; ++i) {
    sums[i / kSumsOfRowBlock][i % kSumsOfRowBlock] = 0;
  }
}

__device__ __forceinline__ void pin_row_blocks(int first, int end, Sums& sums) {
#pragma unroll
  for (int block = first; block < end; ++block) {
    pin(sums[block]);
  }
}
__device__ __forceinline__ void pin_all(Sums& sums) {
  pin_row_blocks(0, kRowBlocks, sums);
}

// When the sums are wanted: the products end, and the last stage is released.
__device__ __forceinline__ void end_multiplying(const Loader& loader, const Ring& ring,
                                                Sums& sums) {
  if (kInFlight == 1) {
    wait_for_products(0);
    pin_all(sums);
    release(loader, stage_before(ring));
  }
}
