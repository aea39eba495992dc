// How a consumer's part of a work leaves: whole, or, where K is split, in slices whose parts are
// added first. Expects the knobs as constants.
#pragma once

#include "../ptx/warpgroup.cuh"
#include "products.cuh"
#include "reduction.cuh"
#include "tile_scheduler.cuh"
#include "transposed_store.cuh"
#include "warp_store.cuh"

// As many columns of sums as are finished together, to D. They are of 64 rows from m0 on.
__device__ __forceinline__ void store_slice(const Arguments& arguments, const TensorMap& d,
                                            const ThreadGroup& team, int entry, int m0, int n0,
                                            char* memory, Staging& staging, const Slice& sums) {
  const Epilogue epilogue = begin_epilogue(arguments, entry);
  const int m = m0 + team.thread / 32 * 16;
  if (kSwapAB) {
    store_transposed(arguments, d, epilogue, entry, m0, n0, team, staging, sums);
  } else if (kTensorStore) {
    store_by_tensor_copies(arguments, d, epilogue, entry, m, n0, staging, sums);
  } else {
    store_by_threads(arguments, epilogue, entry, m, n0, reinterpret_cast<Accumulator*>(memory),
                     sums);
  }
}

__device__ __forceinline__ ThreadGroup team_of_consumer(int consumer) {
  return {static_cast<int>(threadIdx.x) % kWarpgroup, kWarpgroup, 1 + consumer};
}

// A row block of a consumer whose rows begin at m0 in D, where K is not split.
__device__ __forceinline__ void store_row_block(const Arguments& arguments, const TensorMap& d,
                                                const Work& work, int m0, int block, int consumer,
                                                char* memory, Staging& staging, const Sums& sums) {
  store_slice(arguments, d, team_of_consumer(consumer), work.entry, m0 + 64 * block, work.n0,
              memory, staging, reinterpret_cast<const Slice&>(sums[block]));
}

// A consumer's part of a work leaves, from row m0 of D on. Where K is split, the consumers that
// hold the other parts take slices of the tile, too.
__device__ __forceinline__ void store_work(const Arguments& arguments, const TensorMap& d,
                                           const Work& work, bool is_last_work, int m0,
                                           int consumer, char* memory, Staging& staging,
                                           int* scratch, Sums& sums) {
  if (kSplitK == 1) {
#pragma unroll
    for (int block = 0; block < kRowBlocks; ++block) {
      store_row_block(arguments, d, work, m0, block, consumer, memory, staging, sums);
    }
    return;
  }
  const ThreadGroup team = team_of_consumer(consumer);
  const long long unit = kPingPong ? work.unit : work.unit * kConsumers + consumer;
  const TileOfParts tile = tile_of_parts(arguments, unit, kPartElements, team, scratch);
  int slice = hand_in(tile, work.part, is_last_work, &sums[0][0]);
  for (; slice < kSlices; slice = next_slice(tile)) {
    Slice of_slice;
    add_parts(tile, slice, of_slice);
    store_slice(arguments, d, team, work.entry, m0 + 64 * slice_row_block(slice),
                work.n0 + slice_column(slice), memory, staging, of_slice);
  }
}
