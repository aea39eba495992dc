// Loads fragments from shared memory into the registers of a warp, in the layout that mma takes
// (../ptx/mma.cuh).
//
//   load_block<order>(tile, memory, ...)      loads 16 rows of A (columns of B), 8 registers long
//
// operands.cuh says which elements a lane holds.
#pragma once

#include "../ptx/data_movement.cuh"
#include "operands.cuh"
#include "tile.cuh"

// An MN-major operand of 8 bits is transposed in pairs of bytes. Rows g and g + 8 of operands.cuh
// are then rows (columns) 2 g and 2 g + 1 of the block.
__host__ __device__ constexpr bool rows_alternate(Tile tile) {
  return !tile.is_k_major && tile.element_bytes == 1;
}

// The first row (column) of a block in the warp tile, and its first register along k.
struct BlockOrigin {
  int mn, first_k;
};

// `memory` holds the tile. warp_mn is the warp tile's first row (column) in the tile. It is a
// multiple of the warp tile's size, which is a power of two.
template <RegisterOrder kOrder>
__device__ __forceinline__ void load_block(Tile tile, const char* memory, int warp_mn,
                                           BlockOrigin block, unsigned (&registers)[4]) {
  const int lane = threadIdx.x % 32;
  // ldmatrix loads four 8 x 8 matrices. This lane gives the address of a row of one of them.
  const int matrix_row = kOrder == RegisterOrder::kRowsFirst ? lane / 8 % 2 : lane / 16;
  const int matrix_k = kOrder == RegisterOrder::kRowsFirst ? lane / 16 : lane / 8 % 2;
  if (tile.is_k_major) {
    const int offset = offset_in_tile(tile, warp_mn + matrix_row * 8 + lane % 8, matrix_k * 16);
    load_matrices(memory + advance_in_tile(tile, offset, block.mn, block.first_k * 4), registers);
  } else if (tile.element_bytes == 4) {
    const int offset = offset_in_tile(tile, lane % 4, (warp_mn + lane / 4) * 4);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = i % 2, k = i / 2;
      registers[register_index(kOrder, row, k)] = *reinterpret_cast<const unsigned*>(
          memory + advance_in_tile(tile, offset, block.first_k + k * 4, (block.mn + row * 8) * 4));
    }
  } else if (tile.element_bytes == 2) {
    const int offset =
        offset_in_tile(tile, matrix_k * 8 + lane % 8, (warp_mn + matrix_row * 8) * 2);
    load_matrices_transposed(
        memory + advance_in_tile(tile, offset, block.first_k * 2, block.mn * 2), registers);
  } else {
    // ldmatrix transposes pairs of bytes. Since k is permuted, one matrix gives a lane the elements
    // k = 4 t and 4 t + 1 of rows 2 g and 2 g + 1. The next matrix gives the lane k = 4 t + 2 and 4
    // t + 3 of the same rows.
    unsigned pairs[4];
    const int offset = offset_in_tile(tile, lane, warp_mn);
    load_matrices_transposed(memory + advance_in_tile(tile, offset, block.first_k * 4, block.mn),
                             pairs);
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const unsigned first = pairs[2 * k], second = pairs[2 * k + 1];
      registers[register_index(kOrder, 0, k)] = permute_bytes(first, second, 0x6420);
      registers[register_index(kOrder, 1, k)] = permute_bytes(first, second, 0x7531);
    }
  }
}

template <RegisterOrder kOrder>
__device__ __forceinline__ void load_block(Tile tile, const char* memory, int warp_mn,
                                           BlockOrigin block, double (&registers)[4]) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const int offset = tile.is_k_major ? offset_in_tile(tile, warp_mn + g, t * 8)
                                     : offset_in_tile(tile, t, (warp_mn + g) * 8);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = block.mn + i % 2 * 8, k = block.first_k + i / 2 * 4;
    registers[register_index(kOrder, i % 2, i / 2)] = *reinterpret_cast<const double*>(
        memory + (tile.is_k_major ? advance_in_tile(tile, offset, row, k * 8)
                                  : advance_in_tile(tile, offset, k, row * 8)));
  }
}
