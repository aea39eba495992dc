// Transposes operands whose lines do not follow K, of 8 bits, and B of 32 (A of 32 comes from
// registers): products take them only along K, so some warps turn every tile, in place, between the
// copy that brings it and the products that take it.
//
// 128 bytes of lines and of K make a square slab (slabs.cuh), 8 x 8 blocks of 16 bytes a line.
// Where the block of lines c and unit d was, the block of lines d and unit c comes to lie, turned
// itself. A warp takes the 8 blocks with d = c ^ x at a time: they change places among each other,
// and neither its reads nor its writes meet in a bank.
#pragma once

#include "operand_tiles.cuh"
#include "pipeline.cuh"
#include "tile_scheduler.cuh"

constexpr int kTurnedBytes = 2048;  // by a warp at a time

struct Unit {
  unsigned word[4];
};
__device__ __forceinline__ Unit load_unit(unsigned from) {
  Unit unit;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(unit.word[0]), "=r"(unit.word[1]), "=r"(unit.word[2]), "=r"(unit.word[3])
               : "r"(from)
               : "memory");
  return unit;
}
__device__ __forceinline__ void store_unit(unsigned to, unsigned x, unsigned y, unsigned z,
                                           unsigned w) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x), "r"(y), "r"(z), "r"(w)
               : "memory");
}

// Where the unit of 16 bytes lies that is the `unit`th of a line.
__device__ __forceinline__ unsigned place_of_unit(unsigned slab, int line, int unit) {
  return slab + line * kLine + (unit ^ line % 8) * 16;
}

// Elements of 32 bits: a block is 4 lines, a slab 32. A lane has a block; a warp four x.
__device__ __forceinline__ void turn_words(unsigned slab, int part) {
  const int lane = threadIdx.x % 32;
  const int c = lane % 8, d = c ^ (part * 4 + lane / 8);
  Unit line[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    line[i] = load_unit(place_of_unit(slab, 4 * c + i, d));
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    store_unit(place_of_unit(slab, 4 * d + i, c), line[0].word[i], line[1].word[i], line[2].word[i],
               line[3].word[i]);
  }
}

// Four words of four bytes: byte j of word i becomes byte i of word j.
__device__ __forceinline__ void turn_bytes(unsigned (&word)[4]) {
  const unsigned low_01 = __byte_perm(word[0], word[1], 0x5140);
  const unsigned low_23 = __byte_perm(word[2], word[3], 0x5140);
  const unsigned high_01 = __byte_perm(word[0], word[1], 0x7362);
  const unsigned high_23 = __byte_perm(word[2], word[3], 0x7362);
  word[0] = __byte_perm(low_01, low_23, 0x5410);
  word[1] = __byte_perm(low_01, low_23, 0x7632);
  word[2] = __byte_perm(high_01, high_23, 0x5410);
  word[3] = __byte_perm(high_01, high_23, 0x7632);
}
// Elements of 8 bits: a block is 16 lines, a slab 128. A lane has four columns of a block.
__device__ __forceinline__ void turn_bytes_of(unsigned slab, int x) {
  const int lane = threadIdx.x % 32;
  const int c = lane % 8, d = c ^ x, column = lane / 8 * 4;
  unsigned turned[4][4];  // of every four lines, the four columns
#pragma unroll
  for (int four = 0; four < 4; ++four) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      turned[four][i] = load_word(place_of_unit(slab, 16 * c + 4 * four + i, d) + column);
    }
    turn_bytes(turned[four]);
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    store_unit(place_of_unit(slab, 16 * d + column + i, c), turned[0][i], turned[1][i],
               turned[2][i], turned[3][i]);
  }
}

// A warp's share of a tile, all slabs of it.
__device__ __forceinline__ void turn_tile(Slabs slabs, unsigned tile, int warp) {
  const int parts = slab_bytes(slabs) / kTurnedBytes;
  for (int index = warp; index < slabs.slabs * parts; index += kTurners) {
    const unsigned slab = tile + index / parts * slab_bytes(slabs);
    if (slabs.element_bytes == 4) {
      turn_words(slab, index % parts);
    } else {
      turn_bytes_of(slab, index % parts);
    }
  }
}

// A turning warp: its share of every tile that must be turned.
__device__ __forceinline__ void turn(const Shared& shared, const WorkList& list, int warp) {
  Ring ring;
  for (int index = list.first; index < list.count; index += list.apart) {
    const int tiles_of_k = work_at(list, index).tiles_of_k;
    for (int tile = 0; tile < tiles_of_k; ++tile) {
      wait(landed(shared, ring.stage), ring.parity);
      if (kTurnsA) {
        turn_tile(kLoadedA, tile_a(shared, ring.stage), warp);
      }
      if (kTurnsB) {
        turn_tile(kLoadedB, tile_b(shared, ring.stage), warp);
      }
      show_to_copies();
      __syncwarp();
      if (threadIdx.x % 32 == 0) {
        arrive(full(shared, ring.stage));
      }
      advance(ring);
    }
  }
}
