// The kernel that copies operands whose rows are not aligned to 16 bytes (kernel_parameters.cuh).
//
// A thread writes 16 aligned bytes of the copy. It reads the two aligned 16-byte words of the
// operand that contain these bytes, and shifts them. Neighbouring threads share a word. What a
// thread writes behind the end of a row does not matter, since the tensor maps end there.
#pragma once

#include "../common/problem.cuh"
#include "../common/unaligned_vectors.cuh"
#include "kernel_parameters.cuh"

// One operand: `matrices` matrices of `rows` rows of `length` elements.
template <typename Type>
struct PaddedOperand {
  const Type* from;
  char* to;
  long long length, leading_dimension, pitch;
  long long rows, matrices, batch_stride;
};

// 16 bytes of the copy, in flight.
struct PaddedChunk {
  char* to;  // null after the last row
  UnalignedVector vector;
};

template <typename Type>
__device__ __forceinline__ PaddedChunk load_chunk(const PaddedOperand<Type>& operand, long long row,
                                                  int chunk) {
  constexpr long long kElements = 16 / sizeof(Type);
  const long long batch_index = operand.matrices == 1 ? 0 : row / operand.rows;
  PaddedChunk loaded{};
  if (row >= operand.rows * operand.matrices) {
    return loaded;
  }
  const Type* const matrix = operand.from + batch_index * operand.batch_stride;
  const Type* const end = matrix + (operand.rows - 1) * operand.leading_dimension + operand.length;
  loaded.to = operand.to + row * operand.pitch + static_cast<long long>(chunk) * 16;
  loaded.vector.load(
      matrix + (row - batch_index * operand.rows) * operand.leading_dimension + chunk * kElements,
      Span<Type>{matrix, end});
  return loaded;
}

// Neighbouring threads copy neighbouring chunks, row after row. Each thread has two chunks in
// flight.
template <typename Type, int kAlignment>
__device__ __forceinline__ void pad(const PaddedOperand<Type>& operand) {
  constexpr int kInFlight = 2;
  const auto chunks = static_cast<int>((operand.length * sizeof(Type) + 15) / 16);
  const long long rows = operand.rows * operand.matrices;
  const unsigned step = gridDim.x * kPaddingThreads;
  const unsigned first = blockIdx.x * kPaddingThreads + threadIdx.x;
  const int step_rows = step / chunks, step_chunks = step % chunks;
  long long row = first / chunks;
  int chunk = first % chunks;
  while (row < rows) {
    PaddedChunk loaded[kInFlight];
#pragma unroll
    for (PaddedChunk& one : loaded) {
      one = load_chunk(operand, row, chunk);
      row += step_rows;
      chunk += step_chunks;
      if (chunk >= chunks) {
        chunk -= chunks;
        ++row;
      }
    }
#pragma unroll
    for (const PaddedChunk& one : loaded) {
      if (one.to != nullptr) {
        *reinterpret_cast<uint4*>(one.to) = one.vector.template shifted<kAlignment>();
      }
    }
  }
}

__device__ __forceinline__ void pad_operands(const Arguments& arguments,
                                             const OperandPadding& padding) {
  char* const workspace = static_cast<char*>(arguments.workspace);
  if (kAlignA < 16) {
    const bool by_rows = kOrderA == Order::kRowMajor;
    pad<TypeA, kAlignA>({.from = static_cast<const TypeA*>(arguments.a),
                         .to = workspace + padding.offset_a,
                         .length = by_rows ? arguments.k : arguments.m,
                         .leading_dimension = arguments.lda,
                         .pitch = padding.pitch_a,
                         .rows = by_rows ? arguments.m : arguments.k,
                         .matrices = arguments.batch_stride_a == 0 ? 1 : arguments.batch,
                         .batch_stride = arguments.batch_stride_a});
  }
  if (kAlignB < 16) {
    const bool by_rows = kOrderB == Order::kRowMajor;
    pad<TypeB, kAlignB>({.from = static_cast<const TypeB*>(arguments.b),
                         .to = workspace + padding.offset_b,
                         .length = by_rows ? arguments.n : arguments.k,
                         .leading_dimension = arguments.ldb,
                         .pitch = padding.pitch_b,
                         .rows = by_rows ? arguments.k : arguments.n,
                         .matrices = arguments.batch_stride_b == 0 ? 1 : arguments.batch,
                         .batch_stride = arguments.batch_stride_b});
  }
}
