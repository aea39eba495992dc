// Products whose A comes from registers: elements of 32 bits in lines that do not follow K, which
// products do not take from shared memory, are read by the threads that multiply.
#pragma once

#include "products.cuh"
#include "transpose.cuh"

// Where in a tile a lane finds row 16 w + g of step 0: at k = t in lanes of even t, at k = t + 4 in
// the others, so that no two lanes meet in a bank. The other k is 4 further or nearer, the other
// row 8 further.
__device__ __forceinline__ unsigned offset_of_lane() {
  const int warp = threadIdx.x / 32 % 4, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const int row = 16 * warp + g, k = t ^ (t % 2 * 4);
  const unsigned slab = row / 32 * slab_bytes(kLoadedA);
  return place_of_unit(slab, k, row % 32 / 4) + row % 4 * 4;
}
constexpr unsigned kOtherK = 4 * kLine + 4 * 16;  // the line, and with it the swizzle
constexpr unsigned kOtherRow = 2 * 16;

__device__ __forceinline__ unsigned long long pair_of(unsigned low, unsigned high) {
  return low | static_cast<unsigned long long>(high) << 32;
}
__device__ __forceinline__ FragmentOfA load_fragment(unsigned tile, unsigned offset, int row,
                                                     int step) {
  const unsigned from = tile + row / 32 * slab_bytes(kLoadedA) + step * 8 * kLine;
  const unsigned long long here =
      pair_of(load_word(from + offset), load_word(from + (offset ^ kOtherRow)));
  const unsigned long long there = pair_of(load_word(from + (offset ^ kOtherK)),
                                           load_word(from + (offset ^ kOtherK ^ kOtherRow)));
  return threadIdx.x % 2 == 0 ? FragmentOfA{{here, there}} : FragmentOfA{{there, here}};
}

using Fragments = FragmentOfA[kRowBlocks];
__device__ __forceinline__ void load_fragments(const Shared& shared, int stage, unsigned offset,
                                               int row, int step, Fragments& fragments) {
#pragma unroll
  for (int block = 0; block < kRowBlocks; ++block) {
    fragments[block] = load_fragment(tile_a(shared, stage), offset, row + 64 * block, step);
  }
}

// The sums of a work, from row `row` of its tile on. The products of one step still run while those
// of the next one are begun and A is read for the one after: if it is read later, the compiler lets
// products wait for each other.
__device__ __forceinline__ void multiply_from_registers(const Shared& shared, const Loader& loader,
                                                        const Work& work, int row, Ring& ring,
                                                        Sums& sums) {
  float(&f32_sums)[kRowBlocks][kSumsOfRowBlock] =
      reinterpret_cast<float(&)[kRowBlocks][kSumsOfRowBlock]>(
          sums);  // they are, where this is used
  Fragments fragments[kSteps];
  const unsigned offset = offset_of_lane();
  clear(sums);
  wait(full(shared, ring.stage), ring.parity);
  load_fragments(shared, ring.stage, offset, row, 0, fragments[0]);
#pragma unroll 1
  for (int tile = 0; tile < work.tiles_of_k; ++tile) {
    const int stage = ring.stage, released = stage_before(ring);
    advance(ring);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step + 1 < kSteps) {
        load_fragments(shared, stage, offset, row, step + 1, fragments[step + 1]);
      } else if (tile + 1 < work.tiles_of_k) {
        wait(full(shared, ring.stage), ring.parity);
        load_fragments(shared, ring.stage, offset, row, 0, fragments[0]);
      }
      pin_all(sums);
      begin_products();
#pragma unroll
      for (int block = 0; block < kRowBlocks; ++block) {
        add_products_async(f32(), f32(), fragments[step][block],
                           descriptor(kSlabsB, place_b(shared, stage), 0, step), f32_sums[block]);
      }
      end_products();
      wait_for_products(1);
      pin_all(sums);
      if (step == 0 && tile > 0) {
        release(loader, released);
      }
    }
  }
}
