// Operands of mma: the registers that a lane holds, and how element types are multiplied.
//
//   convert(type, order, block, operands)            makes the operands of the instruction
//   multiply_operands<A, B>(a, b, half, d)           d += the products of the operands
//
// A register holds neighbouring elements along k: 4 bytes, or 8 bytes for f64. A block has 16 rows
// of A (columns of B), 8 registers long. A block of A is one fragment; a block of B is two
// fragments, one after the other. With g = lane / 4 and t = lane % 4, a lane holds its four
// registers in the order of the instruction:
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

#include "../common/problem.cuh"
#include "../ptx/mma.cuh"
#include "shape.h"

// The architecture: 90 for sm_90.
#ifdef __CUDA_ARCH__
constexpr int kArch = __CUDA_ARCH__ / 10;
#else
constexpr int kArch = 0;
#endif

// The types, the numerics and the architecture determine how elements are multiplied.
constexpr int kElementBytes = sizeof(TypeA);
constexpr bool kEmulates = kNumerics == Numerics::kEmulated;
constexpr bool kIsFp8 = kElementBytes == 1 && !kAccumulatorIsInteger;
constexpr bool kConvertsToF16 =
    kIsFp8 && !(mma::multiplies_fp8(kArch) && kNumerics == Numerics::kFast);

enum class RegisterOrder { kRowsFirst, kKFirst };

// The index of a register: `row` is 0 for row g and 1 for row g + 8, `k` is 0 for t and 1 for
// t + 4.
__host__ __device__ constexpr int register_index(RegisterOrder order, int row, int k) {
  return order == RegisterOrder::kRowsFirst ? row + 2 * k : k + 2 * row;
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

using Register = decltype(register_type(Accumulator()));

// The numbers of operands that convert() makes from the blocks of a step, and of products of these
// operands.
constexpr int kBlocksOfStep = kEmulates ? 2 : 1;  // of 8 registers along k
constexpr int kOperands = kEmulates ? 3 : kConvertsToF16 ? 2 : 1;
constexpr int kProducts = kEmulates ? 6 : kOperands;
template <class Type>
using OperandType =
    decltype(operand_type(Type(), *static_cast<const char (*)[kOperands]>(nullptr)));

using Operands = Register[kOperands][4];
struct Product {
  int a, b;
};
__device__ __forceinline__ constexpr Product product_at(int index) {
  constexpr Product emulated[6] = {{2, 0}, {0, 2}, {1, 1}, {1, 0}, {0, 1}, {0, 0}};
  return kEmulates ? emulated[index] : Product{index, index};
}

// Adds products to 16 x 8 accumulators. `half` is 0 for the first 8 of B's 16 columns and 1 for the
// others.
template <class A, class B>
__device__ __forceinline__ void multiply_operands(const Operands& a, const Operands& b, int half,
                                                  Accumulator (&accumulators)[4]) {
#pragma unroll
  for (int index = 0; index < kProducts; ++index) {
    const Product product = product_at(index);
    const Register columns[2] = {b[product.b][2 * half], b[product.b][2 * half + 1]};
    Mma<OperandType<A>, OperandType<B>>::mma_sync(a[product.a], columns, accumulators);
  }
}
