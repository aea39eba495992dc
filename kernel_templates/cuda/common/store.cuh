// Stores of D. A warp's accumulators go through shared memory, so that each thread gets
// neighbouring elements of a row. The thread applies the epilogue to 16 bytes of accumulators, and
// stores the elements together.
#pragma once

#include "epilogue.cuh"

constexpr int kVectorElements = 16 / sizeof(Accumulator);
struct alignas(16) AccumulatorVector {
  Accumulator element[kVectorElements];
};

constexpr bool kStoresVectors = kAlignD >= kVectorElements * static_cast<int>(sizeof(TypeD));
struct alignas(kStoresVectors ? kVectorElements * sizeof(TypeD) : sizeof(TypeD)) OutputVector {
  TypeD element[kVectorElements];
};

// The matrix D with this batch index.
struct OutputMatrix {
  const Arguments& arguments;
  const Epilogue& epilogue;
  long long batch_index;
  long long end_m;  // of the rows that are stored

  // Stores a vector of elements from D[m, n] along n, except those outside D. `n` is a multiple of
  // kVectorElements.
  __device__ __forceinline__ void store_vector(const AccumulatorVector& accumulators, long long m,
                                               long long n) const {
    if (m >= end_m || n >= arguments.n) {
      return;
    }
    TypeD* const to = matrix_d(arguments, batch_index) + offset_d(arguments, m, n);
    if (kStoresVectors && n + kVectorElements <= arguments.n) {
      OutputVector vector;
#pragma unroll
      for (int i = 0; i < kVectorElements; ++i) {
        vector.element[i] = apply_epilogue(epilogue, accumulators.element[i], m, n + i);
      }
      *reinterpret_cast<OutputVector*>(to) = vector;
      return;
    }
#pragma unroll
    for (int i = 0; i < kVectorElements; ++i) {
      if (n + i < arguments.n) {
        to[i] = apply_epilogue(epilogue, accumulators.element[i], m, n + i);
      }
    }
  }

  // Stores a warp's 16 rows of kColumns elements, starting at D[m, n]. Used if D is not aligned for
  // vectors. `rows` points to the accumulators in shared memory, where rows are kPitch elements
  // apart. Neighbouring threads store neighbouring elements.
  template <int kColumns, int kPitch>
  __device__ __forceinline__ void store_elements(const Accumulator* rows, long long m,
                                                 long long n) const {
    static_assert(32 % kColumns == 0, "a warp must store whole rows");
    constexpr int kRowsAtOnce = 32 / kColumns;
    const int lane = threadIdx.x % 32, column = lane % kColumns, first = lane / kColumns;
    const int end = n + column < arguments.n ? static_cast<int>(min(end_m - m, 16LL)) : 0;
    TypeD* to = matrix_d(arguments, batch_index) + offset_d(arguments, m + first, n + column);
#pragma unroll 4
    for (int row = first; row < 16; row += kRowsAtOnce) {
      if (row < end) {
        *to = apply_epilogue(epilogue, rows[row * kPitch + column], m + row, n + column);
      }
      to += offset_d(arguments, kRowsAtOnce, 0);
    }
  }
};

struct alignas(2 * sizeof(Accumulator)) AccumulatorPair {
  Accumulator first, second;
};

// The order of the rows and columns of fragments. If rows alternate, a lane's second row follows
// its first row; otherwise it is 8 rows further. If columns alternate, a column of the right
// fragment follows the same column of the left fragment; otherwise it is 8 columns further.
struct FragmentOrder {
  bool rows_alternate, columns_alternate;
};

// Stores a warp's accumulators of 16 x 16 elements of D, in two fragments (../ptx/mma.cuh), to rows
// in shared memory.
template <int kPitch, FragmentOrder kOrder = FragmentOrder{}>
__device__ __forceinline__ void fragments_to_shared(const Accumulator (&left)[4],
                                                    const Accumulator (&right)[4],
                                                    Accumulator* rows) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    Accumulator* const row = rows + (kOrder.rows_alternate ? 2 * g + half : g + 8 * half) * kPitch;
    const Accumulator left_0 = left[2 * half], left_1 = left[2 * half + 1];
    const Accumulator right_0 = right[2 * half], right_1 = right[2 * half + 1];
    auto* const pairs = reinterpret_cast<AccumulatorPair*>(row);
    if (kOrder.columns_alternate) {
      pairs[2 * t] = {left_0, right_0};
      pairs[2 * t + 1] = {left_1, right_1};
    } else {
      pairs[t] = {left_0, left_1};
      pairs[4 + t] = {right_0, right_1};
    }
  }
}
