// A consumer warpgroup of several row blocks that multiplies and stores at the same time: its first
// row block leaves while the last products of the others run, and the others leave while the first
// products of the next work run. Expects the knobs as constants.
//
//   first row block    | last products | leaves            | first products    | ...
//   the others         | last products of this work        | leave             | first products
#pragma once

#include "pipeline.cuh"
#include "products.cuh"
#include "store_work_tile.cuh"

// Sums of 32 bits leave sooner at once: they take as long as products of several tiles along K.
// With and without overlap, H200, 2026-11-23: s8 nt 8192^3 668 and 663 us; bf16 nt 8192 x 28672 x
// 4096 2243 and 2255, 8192 x 24576 x 1536 749 and 757; e4m3 to f16 4096 x 57344 x 8192 2110 and
// 2128. The warps that turn operands take the registers which two loops need.
constexpr bool kOverlaps = kRowBlocks > 1 && !kPingPong && kSplitK == 1 && kInFlight == 1 &&
                           !kRegistersA && !kTurns && sizeof(TypeD) <= 2;

// A work begins: its first products, which the others may follow later.
__device__ __forceinline__ void begin_overlapped(const Shared& shared, const Ring& ring, int row,
                                                 Sums& sums) {
  wait(full(shared, ring.stage), ring.parity);
  pin(sums[0]);
  begin_products();
  multiply_row_blocks(shared, ring.stage, row, false, 0, 1, sums);
  end_products();
}

// All its other products, those of the first row block and of the others with a tile along K a
// group each. The last ones still run afterwards, and their stage is not released.
__device__ __forceinline__ void multiply_overlapped(const Shared& shared, const Loader& loader,
                                                    int tiles_of_k, int row, Ring& ring,
                                                    Sums& sums) {
  pin_row_blocks(1, kRowBlocks, sums);
  begin_products();
  multiply_row_blocks(shared, ring.stage, row, false, 1, kRowBlocks, sums);
  end_products();
  int before = ring.stage;
  advance(ring);
#pragma unroll 1
  for (int tile = 1; tile < tiles_of_k; ++tile) {
    wait(full(shared, ring.stage), ring.parity);
    pin_all(sums);
    begin_products();
    multiply_row_blocks(shared, ring.stage, row, true, 0, 1, sums);
    end_products();
    multiply_row_blocks(shared, ring.stage, row, true, 1, kRowBlocks, sums);
    end_products();
    wait_for_products(2);
    pin_all(sums);
    release(loader, before);
    before = ring.stage;
    advance(ring);
  }
}

__device__ __forceinline__ void consume_overlapped(const Arguments& arguments, const TensorMap& d,
                                                   const Shared& shared, char* memory,
                                                   const WorkList& list, int consumer) {
  const int row = consumer * kRows;
  Ring ring;
  const Loader loader = loader_of_lane(shared, list.seat);
  Staging staging{shared_address(memory)};
  Sums sums;
  const auto leave = [&](const Work& work, int first, int end) {
#pragma unroll
    for (int block = first; block < end; ++block) {
      store_row_block(arguments, d, work, work.m0 + row, block, consumer, memory, staging, sums);
    }
  };
  int index = list.first;
  if (index >= list.count) {
    return;
  }
  begin_overlapped(shared, ring, row, sums);
  // What the sums are used for must not depend on a branch while products run: the compiler would
  // let it wait for them. So the last work ends behind the loop.
  Work work = work_at(list, index);
  while (true) {
    multiply_overlapped(shared, loader, work.tiles_of_k, row, ring, sums);
    wait_for_products(1);
    pin(sums[0]);
    leave(work, 0, 1);
    end_multiplying(loader, ring, sums);
    index += list.apart;
    if (index >= list.count) {
      break;
    }
    begin_overlapped(shared, ring, row, sums);
    leave(work, 1, kRowBlocks);
    work = work_at(list, index);
  }
  leave(work, 1, kRowBlocks);
}
