// Transposes a tile in shared memory, in place, after TMA has loaded it and before wgmma reads it.
// wgmma takes elements of 8 and 32 bits only if they are K-major.
//
// A tile consists of squares, 128 bytes along M (or N) and 128 bytes along K. A square has 8 x 8
// blocks, whose rows have 16 bytes. The block in row c and column d is transposed and moved to row
// d and column c. For a number x, a warp transposes the 8 blocks with d = c ^ x together. They swap
// positions among themselves, and neither reads nor writes have bank conflicts.
#pragma once

#include "../ptx/data_movement.cuh"
#include "shape.h"

using namespace tunedgemm::internal;

constexpr int kTransposedBytes = 2048;  // by a warp at a time

// The address of a 16-byte vector of a swizzled row.
__device__ __forceinline__ unsigned vector_address(unsigned atom_column, int row, int vector) {
  return atom_column + row * wgmma::kSwizzleBytes + (vector ^ row % 8) * 16;
}

// Elements of 32 bits: a block has 4 rows, and a square has 32. Each lane transposes a block, so a
// warp handles four values of x.
__device__ __forceinline__ void transpose_32_bits(unsigned square, int part) {
  const int lane = threadIdx.x % 32;
  const int c = lane % 8, d = c ^ (part * 4 + lane / 8);
  SharedVector row[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    row[i] = load_shared_vector(vector_address(square, 4 * c + i, d));
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    store_shared(vector_address(square, 4 * d + i, c), row[0].element[i], row[1].element[i],
                 row[2].element[i], row[3].element[i]);
  }
}

// A 4 x 4 matrix of bytes: byte j of x[i] becomes byte i of x[j].
__device__ __forceinline__ void transpose_4x4_bytes(unsigned (&x)[4]) {
  const unsigned low_01 = __byte_perm(x[0], x[1], 0x5140);
  const unsigned low_23 = __byte_perm(x[2], x[3], 0x5140);
  const unsigned high_01 = __byte_perm(x[0], x[1], 0x7362);
  const unsigned high_23 = __byte_perm(x[2], x[3], 0x7362);
  x[0] = __byte_perm(low_01, low_23, 0x5410);
  x[1] = __byte_perm(low_01, low_23, 0x7632);
  x[2] = __byte_perm(high_01, high_23, 0x5410);
  x[3] = __byte_perm(high_01, high_23, 0x7632);
}
// Elements of 8 bits: a block has 16 rows, and a square has 128. Each lane transposes four columns
// of a block.
__device__ __forceinline__ void transpose_8_bits(unsigned square, int x) {
  const int lane = threadIdx.x % 32;
  const int c = lane % 8, d = c ^ x, column = lane / 8 * 4;
  unsigned columns[4][4];  // the four columns of every four rows
#pragma unroll
  for (int four = 0; four < 4; ++four) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      columns[four][i] = load_shared(vector_address(square, 16 * c + 4 * four + i, d) + column);
    }
    transpose_4x4_bytes(columns[four]);
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    store_shared(vector_address(square, 16 * d + column + i, c), columns[0][i], columns[1][i],
                 columns[2][i], columns[3][i]);
  }
}

// Warp `warp` of `warps` transposes its part of the tile at `address`, which was loaded as `tile`.
__device__ __forceinline__ void transpose_tile(wgmma::SharedTile tile, unsigned address, int warp,
                                               int warps) {
  const int parts = wgmma::atom_column_bytes(tile) / kTransposedBytes;
  for (int index = warp; index < tile.atom_columns * parts; index += warps) {
    const unsigned square = address + index / parts * wgmma::atom_column_bytes(tile);
    if (tile.element_bytes == 4) {
      transpose_32_bits(square, index % parts);
    } else {
      transpose_8_bits(square, index % parts);
    }
  }
}
