// Stores a warp's block of 16 x 16 elements of D from the fragments of the tensor cores to swizzled
// rows in shared memory, from which TMA copies them (sm_90 and later).
//
//   store_block(rows, span, column, packed(elements))
//   store_block_transposed(rows, row, column, packed(elements))
//
// With g = lane / 4 and t = lane % 4, a lane's elements are: [0], [1] in row g, columns 2 t and 2 t
// + 1; [2], [3] in row g + 8; [4] to [7] 8 columns further. The 16 rows of `span` bytes are
// swizzled (tensor_copy.cuh), and the block begins at `column`. store_block_transposed() turns the
// block's columns into rows of 128 bytes. The first of these rows is `row`; the block begins at
// `column` of each row.
#pragma once

#include "../common/number.cuh"
#include "../ptx/data_movement.cuh"
#include "../ptx/tensor_copy.cuh"

__device__ __forceinline__ unsigned bits_of(f32 x) {
  return __float_as_uint(x);
}
__device__ __forceinline__ unsigned bits_of(s32 x) {
  return static_cast<unsigned>(x);
}
__device__ __forceinline__ unsigned pair_of(unsigned short low, unsigned short high) {
  return low | static_cast<unsigned>(high) << 16;
}

// A lane's elements in registers. A register holds two elements of 16 bits, or one of 32 or 64.
struct PackedElements16 {
  unsigned pair[4];
};
struct PackedElements32 {
  unsigned element[8];
};
struct PackedElements64 {
  double element[8];
};
__device__ __forceinline__ PackedElements16 packed(const f16 (&x)[8]) {
  return {pair_of(x[0].bits, x[1].bits), pair_of(x[2].bits, x[3].bits),
          pair_of(x[4].bits, x[5].bits), pair_of(x[6].bits, x[7].bits)};
}
__device__ __forceinline__ PackedElements16 packed(const bf16 (&x)[8]) {
  return {pair_of(x[0].bits, x[1].bits), pair_of(x[2].bits, x[3].bits),
          pair_of(x[4].bits, x[5].bits), pair_of(x[6].bits, x[7].bits)};
}
__device__ __forceinline__ PackedElements32 packed(const f32 (&x)[8]) {
  return {bits_of(x[0]), bits_of(x[1]), bits_of(x[2]), bits_of(x[3]),
          bits_of(x[4]), bits_of(x[5]), bits_of(x[6]), bits_of(x[7])};
}
__device__ __forceinline__ PackedElements32 packed(const s32 (&x)[8]) {
  return {bits_of(x[0]), bits_of(x[1]), bits_of(x[2]), bits_of(x[3]),
          bits_of(x[4]), bits_of(x[5]), bits_of(x[6]), bits_of(x[7])};
}
__device__ __forceinline__ PackedElements64 packed(const f64 (&x)[8]) {
  return {x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]};
}

__device__ __forceinline__ void store_block(unsigned rows, int span, int column,
                                            const PackedElements16& elements) {
  const int lane = threadIdx.x % 32;
  store_matrices(rows + swizzled(lane % 16 * span + (column + lane / 16 * 8) * 2, span),
                 elements.pair);
}
template <class PackedElements>
__device__ __forceinline__ void store_block(unsigned rows, int span, int column,
                                            const PackedElements& elements) {
  constexpr int kBytes = sizeof(elements.element[0]);
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4 + i % 2 * 8, at = column + lane % 4 * 2 + i / 2 * 8;
    store_shared(rows + swizzled(row * span + at * kBytes, span), elements.element[2 * i],
                 elements.element[2 * i + 1]);
  }
}

__device__ __forceinline__ void store_block_transposed(unsigned rows, int row, int column,
                                                       const PackedElements16& elements) {
  const int lane = threadIdx.x % 32;
  const int at_row = row + lane / 16 * 8 + lane % 8, at_column = column + lane / 8 % 2 * 8;
  store_matrices_transposed(rows + swizzled(at_row * 128 + at_column * 2, 128), elements.pair);
}
template <class PackedElements>
__device__ __forceinline__ void store_block_transposed(unsigned rows, int row, int column,
                                                       const PackedElements& elements) {
  constexpr int kBytes = sizeof(elements.element[0]);
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int at_row = row + lane % 4 * 2 + i / 4 * 8 + i % 2;
    const int at_column = column + lane / 4 + i / 2 % 2 * 8;
    store_shared(rows + swizzled(at_row * 128 + at_column * kBytes, 128), elements.element[i]);
  }
}
