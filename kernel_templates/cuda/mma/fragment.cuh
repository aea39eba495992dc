// Loads fragments from shared memory into the registers of a warp, in the layout that mma takes
// (../ptx/mma.cuh).
//
//   load_block<order>(tile, memory, ...)      loads 16 rows of A (columns of B), 8 registers long
//   convert(type, order, block, operands)     makes the operands of the instruction
//
// A register holds neighbouring elements along k: 4 bytes, or 8 bytes for f64. A block of A is one
// fragment; a block of B is two fragments, one after the other. With g = lane / 4 and t = lane % 4,
// a lane holds its four registers in the order of the instruction:
//
//        A, RegisterOrder::kRowsFirst  B, RegisterOrder::kKFirst
//
//   0    row g,     k register t       column g,     k register t
//   1    row g + 8, k register t       column g,     k register t + 4
//   2    row g,     k register t + 4   column g + 8, k register t
//   3    row g + 8, k register t + 4   column g + 8, k register t + 4
//
// An instruction sums over k, so any order of k is correct if A and B share it. This freedom lets
// types be converted without moving elements between lanes.
#pragma once

#include "../common/number.cuh"
#include "../ptx/data_movement.cuh"
#include "tile.cuh"

enum class RegisterOrder { kRowsFirst, kKFirst };

// The index of a register: `row` is 0 for row g and 1 for row g + 8, `k` is 0 for t and 1 for
// t + 4.
__host__ __device__ constexpr int register_index(RegisterOrder order, int row, int k) {
  return order == RegisterOrder::kRowsFirst ? row + 2 * k : k + 2 * row;
}

// An MN-major operand of 8 bits is transposed in pairs of bytes. Rows g and g + 8 in the table
// above are then rows (columns) 2 g and 2 g + 1 of the block.
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
// f64, f16, bf16, s8 and, if the instruction takes it, fp8 are multiplied directly.
struct Direct {
  __device__ Direct() {}
  __device__ Direct(f16) {}
  __device__ Direct(bf16) {}
  __device__ Direct(e4m3) {}
  __device__ Direct(e5m2) {}
};
__device__ __forceinline__ void convert(Direct, RegisterOrder, const unsigned (&blocks)[1][4],
                                        unsigned (&operands)[1][4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    operands[0][i] = blocks[0][i];
  }
}
// Without this overload, an s8 would convert to f32 rather than to Direct.
__device__ __forceinline__ void convert(s8, RegisterOrder order, const unsigned (&blocks)[1][4],
                                        unsigned (&operands)[1][4]) {
  convert(Direct(), order, blocks, operands);
}
__device__ __forceinline__ void convert(f64, RegisterOrder, const double (&blocks)[1][4],
                                        double (&operands)[1][4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    operands[0][i] = blocks[0][i];
  }
}

// f32 is rounded to tf32.
__device__ __forceinline__ void convert(f32, RegisterOrder, const unsigned (&blocks)[1][4],
                                        unsigned (&operands)[1][4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    operands[0][i] = round_to_tf32(blocks[0][i]);
  }
}

// fp8 is converted to f16. The lower two fp8 of a register become a register in the first half
// (along k) of a fragment, and the upper two become a register in the second half. So the first
// four registers along k make one fragment, and the other four make another.
struct Fp8 {
  __device__ Fp8(e4m3) : is_e4m3(true) {}
  __device__ Fp8(e5m2) : is_e4m3(false) {}
  bool is_e4m3;
};
__device__ __forceinline__ void convert(Fp8 type, RegisterOrder order,
                                        const unsigned (&blocks)[1][4],
                                        unsigned (&operands)[2][4]) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int row = i % 2, k = i / 2 % 2, operand = i / 4;
    const unsigned four = blocks[0][register_index(order, row, operand)];
    const auto pair = static_cast<unsigned short>(four >> 16 * k);
    operands[operand][register_index(order, row, k)] =
        type.is_e4m3 ? f16x2_from_e4m3x2(pair) : f16x2_from_e5m2x2(pair);
  }
}

// Emulated f32 is split into three bf16. Their 3 x 8 significant bits hold the 24 significant bits
// of an f32. The remainders are exact. Two blocks of 8 f32 along k make three fragments.
//
// Each x is x1 + x2 + x3, with |x2| <= 2^-8 |x| and |x3| <= 2^-17 |x|. Six of the nine products of
// a and b are added, the smallest first: a3 b1, a1 b3, a2 b2, a2 b1, a1 b2, a1 b1. The other three
// products add up to at most about 2^-24 |a b|, the rounding error of one f32 product. (Two tf32
// parts and three products would take the same time, but would lose the last bits of an operand and
// the product a2 b2: 2^-21 |a b|.) Tensor cores truncate sums, so the error would grow with K.
// Therefore the tensor cores sum only the products of 16 k, from zero, and f32 additions add these
// sums. An operand that is infinite, or that rounds to an infinite bf16, gives NaN.
__device__ __forceinline__ void split(float low, float high, unsigned& first, unsigned& second,
                                      unsigned& third) {
  first = bf16x2_from_f32(low, high);
  const float rest_low = low - __uint_as_float(first << 16);
  const float rest_high = high - __uint_as_float(first & 0xffff0000u);
  second = bf16x2_from_f32(rest_low, rest_high);
  third = bf16x2_from_f32(rest_low - __uint_as_float(second << 16),
                          rest_high - __uint_as_float(second & 0xffff0000u));
}
__device__ __forceinline__ void convert(f32, RegisterOrder order, const unsigned (&blocks)[2][4],
                                        unsigned (&operands)[3][4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = i % 2, k = i / 2, to = register_index(order, row, k);
    split(__uint_as_float(blocks[k][register_index(order, row, 0)]),
          __uint_as_float(blocks[k][register_index(order, row, 1)]), operands[0][to],
          operands[1][to], operands[2][to]);
  }
}

// The type of the operands that convert() makes. The arguments stand for the element type and the
// number of operands. For decltype only.
__device__ f64 operand_type(f64, const char (&)[1]);
__device__ f32 operand_type(f32, const char (&)[1]);
__device__ f16 operand_type(f16, const char (&)[1]);
__device__ bf16 operand_type(bf16, const char (&)[1]);
__device__ s8 operand_type(s8, const char (&)[1]);
__device__ e4m3 operand_type(e4m3, const char (&)[1]);
__device__ e5m2 operand_type(e5m2, const char (&)[1]);
__device__ f16 operand_type(e4m3, const char (&)[2]);
__device__ f16 operand_type(e5m2, const char (&)[2]);
__device__ bf16 operand_type(f32, const char (&)[3]);

// The type of a register, given the type of the accumulators. For decltype only.
__device__ double register_type(double);
__device__ unsigned register_type(float);
__device__ unsigned register_type(int);
