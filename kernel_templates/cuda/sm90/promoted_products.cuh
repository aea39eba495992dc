// Products of fp8 whose sums are kept in f32: the tensor core adds fewer bits of them (NUMERICS 4).
#pragma once

#include "products.cuh"

// The sums of a work, from row `row` of its tile on: the tensor core's are moved to others after
// each tile along K.
__device__ __forceinline__ void multiply_promoted(const Shared& shared, const Loader& loader,
                                                  const Work& work, int row, Ring& ring,
                                                  Sums& sums) {
  Accumulator fresh[kSumsOfRowBlock];
  for (int tile = 0; tile < work.tiles_of_k; ++tile) {
    wait(full(shared, ring.stage), ring.parity);
#pragma unroll
    for (int block = 0; block < kRowBlocks; ++block) {
      pin(fresh);
      begin_products();
      multiply_row_block(shared, ring.stage, row + 64 * block, false, fresh);
      end_products();
      wait_for_products(0);
      pin(fresh);
      if (block == kRowBlocks - 1) {
        release(loader, ring.stage);
      }
#pragma unroll
      for (int i = 0; i < kSumsOfRowBlock; ++i) {
        sums[block][i] = (tile > 0 ? sums[block][i] : 0) + fresh[i];
      }
    }
    advance(ring);
  }
}
