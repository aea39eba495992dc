// The scales of A and B, as the problem's defines tell them, for GPU and CPU kernels. The epilogue
// applies those of matrices and rows, and the mainloop those of blocks.
#pragma once

#include "../../problem/scaling.h"
#include "arguments.cuh"
#include "host_device.cuh"

using namespace tunedgemm::internal;

#ifndef SCALING_A
#define SCALING_A 0  // a number of problem/scaling.h
#endif
#ifndef SCALING_B
#define SCALING_B 0
#endif
constexpr Scaling kScalingA = static_cast<Scaling>(SCALING_A);
constexpr Scaling kScalingB = static_cast<Scaling>(SCALING_B);
constexpr bool kHasBlocksA = is_of_blocks(kScalingA), kHasBlocksB = is_of_blocks(kScalingB);
constexpr bool kHasBlockScales = kHasBlocksA || kHasBlocksB;
constexpr int kRowsOfScaleA = rows_of_scale(kScalingA);
constexpr int kColumnsOfScaleB = rows_of_scale(kScalingB);

// Offsets of the scale of the block with op(A)[m, k], or op(B)[k, n].
TUNEDGEMM_DEVICE_INLINE long long offset_scale_a(const Arguments& arguments, long long batch_index,
                                                 long long m, long long k) {
  return batch_index * arguments.scale_batch_stride_a +
         m / kRowsOfScaleA * arguments.scale_stride_a +
         k / kScaledDepth * arguments.scale_k_stride_a;
}
TUNEDGEMM_DEVICE_INLINE long long offset_scale_b(const Arguments& arguments, long long batch_index,
                                                 long long k, long long n) {
  return batch_index * arguments.scale_batch_stride_b +
         n / kColumnsOfScaleB * arguments.scale_stride_b +
         k / kScaledDepth * arguments.scale_k_stride_b;
}

// `element` of op(A) or op(B), multiplied by the scale of its block if it has one.
template <class Number>
TUNEDGEMM_DEVICE_INLINE Number scaled_a(const Arguments& arguments, long long batch_index,
                                        long long m, long long k, Number element) {
  if constexpr (kHasBlocksA) {
    element *= arguments.scale_a[offset_scale_a(arguments, batch_index, m, k)];
  }
  return element;
}
template <class Number>
TUNEDGEMM_DEVICE_INLINE Number scaled_b(const Arguments& arguments, long long batch_index,
                                        long long k, long long n, Number element) {
  if constexpr (kHasBlocksB) {
    element *= arguments.scale_b[offset_scale_b(arguments, batch_index, k, n)];
  }
  return element;
}
