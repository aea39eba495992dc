// The inner product of a row of op(A) and a column of op(B), read from global memory. It is the
// mainloop of the first three kernels: naive_1d, naive_2d and row_per_block.
#pragma once

#include "../common/problem.cuh"

__device__ __forceinline__ Accumulator dot(const Arguments& arguments, long long batch_index,
                                           long long m, long long n) {
  const TypeA* const a = matrix_a(arguments, batch_index);
  const TypeB* const b = matrix_b(arguments, batch_index);
  Accumulator accumulator = 0;
  const GroupRange depth = depth_of(arguments, batch_index);
  for (long long k = depth.begin; k < depth.end; ++k) {
    const Accumulator left = widen(a[offset_a(arguments, m, k)]);
    const Accumulator right = widen(b[offset_b(arguments, k, n)]);
    multiply_add(scaled_a(arguments, batch_index, m, k, left),
                 scaled_b(arguments, batch_index, k, n, right), accumulator);
  }
  return accumulator;
}
