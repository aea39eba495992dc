// From a tile in shared memory to the operands of a tensor-core instruction (mma.cuh).
//
//   load_block(tile, order, shared, ...)      16 rows of A, or 16 columns of B, by 8 registers of k
//   prepare(type, order, blocks, factors)     what the instruction multiplies
//
// A register holds neighbours along k: 4 bytes of them, or 8 of f64. A block of A is one fragment;
// a block of B is two, one after the other. With g = lane / 4 and t = lane % 4, the four registers
// of a lane are, in the order in which the instruction wants them,
//
//        A, RegisterOrder::kRowsFirst  B, RegisterOrder::kKFirst
//
//   0    row g,     k register t       column g,     k register t
//   1    row g + 8, k register t       column g,     k register t + 4
//   2    row g,     k register t + 4   column g + 8, k register t
//   3    row g + 8, k register t + 4   column g + 8, k register t + 4
//
// An instruction sums over k, so any order of k is right that A and B share. This is used below to
// convert types without moving anything from lane to lane.
#pragma once

#include "../common/number.cuh"
#include "../ptx/data_movement.cuh"
#include "tile.cuh"

enum class RegisterOrder { kRowsFirst, kKFirst };

// The index of the register of row g (or g + 8, if `row` is 1) and k t (or t + 4, if `k` is 1).
__host__ __device__ constexpr int index_of(RegisterOrder order, int row, int k) {
  return order == RegisterOrder::kRowsFirst ? row + 2 * k : k + 2 * row;
}

// Where bytes must be transposed (MN-major operands of 8 bits), rows (columns) g and g + 8 above
// are those numbered 2 g and 2 g + 1 in the block.
__host__ __device__ constexpr bool rows_alternate(Tile tile) {
  return !tile.k_major && tile.element_bytes == 1;
}

// `origin` is the warp's first row or column in the tile, a multiple of its extent, which is a
// power of two; `mn` the block's first one in the warp and `first_k` its first register along k,
// both constants.
__device__ __forceinline__ void load_block(Tile tile, RegisterOrder order, const char* shared,
                                           int origin, int mn, int first_k,
                                           unsigned (&registers)[4]) {
  const int lane = threadIdx.x % 32;
  // Of an 8 x 8 matrix that ldmatrix loads: this lane gives the address of one line of one of four.
  const int matrix_row = order == RegisterOrder::kRowsFirst ? lane / 8 % 2 : lane / 16;
  const int matrix_k = order == RegisterOrder::kRowsFirst ? lane / 16 : lane / 8 % 2;
  if (tile.k_major) {
    const int offset = offset_in_tile(tile, origin + matrix_row * 8 + lane % 8, matrix_k * 16);
    load_matrices(shared + advance_in_tile(tile, offset, mn, first_k * 4), registers);
  } else if (tile.element_bytes == 4) {
    const int offset = offset_in_tile(tile, lane % 4, (origin + lane / 4) * 4);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = i % 2, k = i / 2;
      registers[index_of(order, row, k)] = *reinterpret_cast<const unsigned*>(
          shared + advance_in_tile(tile, offset, first_k + k * 4, (mn + row * 8) * 4));
    }
  } else if (tile.element_bytes == 2) {
    const int offset = offset_in_tile(tile, matrix_k * 8 + lane % 8, (origin + matrix_row * 8) * 2);
    load_matrices_transposed(shared + advance_in_tile(tile, offset, first_k * 2, mn * 2),
                             registers);
  } else {
    // What is transposed are pairs of bytes. Since the lines are permuted, one matrix gives a lane
    // rows 2 g and 2 g + 1 of k 4 t and 4 t + 1, and the next one those of 4 t + 2 and 4 t + 3.
    unsigned pairs[4];
    const int offset = offset_in_tile(tile, lane, origin);
    load_matrices_transposed(shared + advance_in_tile(tile, offset, first_k * 4, mn), pairs);
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const unsigned first = pairs[2 * k], second = pairs[2 * k + 1];
      registers[index_of(order, 0, k)] = permute_bytes(first, second, 0x6420);
      registers[index_of(order, 1, k)] = permute_bytes(first, second, 0x7531);
    }
  }
}

__device__ __forceinline__ void load_block(Tile tile, RegisterOrder order, const char* shared,
                                           int origin, int mn, int first_k,
                                           double (&registers)[4]) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const int offset = tile.k_major ? offset_in_tile(tile, origin + g, t * 8)
                                  : offset_in_tile(tile, t, (origin + g) * 8);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = mn + i % 2 * 8, k = first_k + i / 2 * 4;
    registers[index_of(order, i % 2, i / 2)] = *reinterpret_cast<const double*>(
        shared + (tile.k_major ? advance_in_tile(tile, offset, row, k * 8)
                               : advance_in_tile(tile, offset, k, row * 8)));
  }
}

// A block is multiplied as it is ...
struct AsItIs {
  __device__ AsItIs() {}
  __device__ AsItIs(f16) {}
  __device__ AsItIs(bf16) {}
  __device__ AsItIs(e4m3) {}
  __device__ AsItIs(e5m2) {}
};
__device__ __forceinline__ void prepare(AsItIs, RegisterOrder, const unsigned (&blocks)[1][4],
                                        unsigned (&factors)[1][4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    factors[0][i] = blocks[0][i];
  }
}
// Not an AsItIs, since an s8 would rather become an f32.
__device__ __forceinline__ void prepare(s8, RegisterOrder order, const unsigned (&blocks)[1][4],
                                        unsigned (&factors)[1][4]) {
  prepare(AsItIs(), order, blocks, factors);
}
__device__ __forceinline__ void prepare(f64, RegisterOrder, const double (&blocks)[1][4],
                                        double (&factors)[1][4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    factors[0][i] = blocks[0][i];
  }
}

// ... or rounded to tf32 ...
__device__ __forceinline__ void prepare(f32, RegisterOrder, const unsigned (&blocks)[1][4],
                                        unsigned (&factors)[1][4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    factors[0][i] = round_to_tf32(blocks[0][i]);
  }
}

// ... or widened: the lower two fp8 of a register become a register of a fragment's first half
// along k, the upper two one of its second half. So the first four registers along k make a
// fragment, and the second four another one.
struct Fp8 {
  __device__ Fp8(e4m3) : is_e4m3(true) {}
  __device__ Fp8(e5m2) : is_e4m3(false) {}
  bool is_e4m3;
};
__device__ __forceinline__ void prepare(Fp8 type, RegisterOrder order,
                                        const unsigned (&blocks)[1][4], unsigned (&factors)[2][4]) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int row = i % 2, k = i / 2 % 2, factor = i / 4;
    const unsigned four = blocks[0][index_of(order, row, factor)];
    const auto pair = static_cast<unsigned short>(four >> 16 * k);
    factors[factor][index_of(order, row, k)] =
        type.is_e4m3 ? f16x2_from_e4m3x2(pair) : f16x2_from_e5m2x2(pair);
  }
}

// ... or split into three bf16 of 8 bits each, which together have all 24 of an f32: what the first
// leaves is exact, and so is what the second leaves. Two blocks of 8 f32 along k make the three
// fragments. This is how f32 is emulated:
//
// With x = x1 + x2 + x3, |x2| <= 2^-8 |x| and |x3| <= 2^-17 |x|, six of the nine products of a and
// b are formed, the smallest first: a3 b1, a1 b3, a2 b2, a2 b1, a1 b2, a1 b1. The other three
// together are at most about 2^-24 |a b|, which is what rounding one f32 product costs. (Two tf32
// and three products take the same time, but lose the last bits of an operand and a2 b2: 2^-21 |a
// b|.) Tensor cores cut off where they should round, and so would lose more and more of a long sum;
// therefore the products of every 16 k are summed from zero, and that is added by an f32 addition.
// An operand that is infinite, or so large that it rounds to an infinite bf16, gives NaN.
__device__ __forceinline__ void split(float low, float high, unsigned& first, unsigned& second,
                                      unsigned& third) {
  first = bf16x2_from_f32(low, high);
  const float rest_low = low - __uint_as_float(first << 16);
  const float rest_high = high - __uint_as_float(first & 0xffff0000u);
  second = bf16x2_from_f32(rest_low, rest_high);
  third = bf16x2_from_f32(rest_low - __uint_as_float(second << 16),
                          rest_high - __uint_as_float(second & 0xffff0000u));
}
__device__ __forceinline__ void prepare(f32, RegisterOrder order, const unsigned (&blocks)[2][4],
                                        unsigned (&factors)[3][4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = i % 2, k = i / 2, to = index_of(order, row, k);
    split(__uint_as_float(blocks[k][index_of(order, row, 0)]),
          __uint_as_float(blocks[k][index_of(order, row, 1)]), factors[0][to], factors[1][to],
          factors[2][to]);
  }
}

// The type of the factors that prepare() makes of a type, by their number; for decltype alone.
__device__ f64 factor_type(f64, const char (&)[1]);
__device__ f32 factor_type(f32, const char (&)[1]);
__device__ f16 factor_type(f16, const char (&)[1]);
__device__ bf16 factor_type(bf16, const char (&)[1]);
__device__ s8 factor_type(s8, const char (&)[1]);
__device__ e4m3 factor_type(e4m3, const char (&)[1]);
__device__ e5m2 factor_type(e5m2, const char (&)[1]);
__device__ f16 factor_type(e4m3, const char (&)[2]);
__device__ f16 factor_type(e5m2, const char (&)[2]);
__device__ bf16 factor_type(f32, const char (&)[3]);

// The type of a register, by that of the accumulators; for decltype alone.
__device__ double register_type(double);
__device__ unsigned register_type(float);
__device__ unsigned register_type(int);
