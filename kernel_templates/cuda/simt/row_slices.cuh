// The partial tiles of D that the blocks of a tile hold where K is split, and their reduction
// (split_k_reduction.cuh) in chunks: a few rows of every thread's accumulators.
//
//   int chunk = hand_in(reduction, slice, waits, sums);
//   for (; chunk < kChunks; chunk = reduction.next_chunk()) {
//     for each `row` of the chunk, from chunk * kRowsOfChunk on:
//       add_row(reduction, row, sums_of_row);
//   }
//
// Expects kThreadM, kThreadN, kThreads, kSplitK as constants.
#pragma once

#include "../common/split_k_reduction.cuh"
#include "thread_tile.cuh"

// As many rows as it takes for every block of a tile to have a chunk at most.
__host__ __device__ constexpr int rows_of_chunk(int thread_m, int split_k) {
  int rows = 1;
  while (thread_m / rows > split_k) {
    rows *= 2;
  }
  return rows;
}
constexpr int kRowsOfChunk = rows_of_chunk(kThreadM, kSplitK);
constexpr int kChunks = kThreadM / kRowsOfChunk;
using Reduction = SplitKReduction<kSplitK, kChunks>;

constexpr int kPartialElements = kBlockM * kBlockN;

// A thread's quads of a row in a split-K slice's partial tile; neighbours in memory are neighbouring threads.
__device__ __forceinline__ Quad* quads_of_row(const Reduction& reduction, int slice, int row) {
  const int quad = (slice * kThreadM + row) * kQuadsN;
  return reinterpret_cast<Quad*>(reduction.partial_tiles) + quad * kThreads + threadIdx.x;
}
// To the L2 cache, where all SMs see it, and from there.
__device__ __forceinline__ void store_cached(Quad* to, const float (&x)[4]) {
  __stcg(reinterpret_cast<float4*>(to), make_float4(x[0], x[1], x[2], x[3]));
}
__device__ __forceinline__ void store_cached(Quad* to, const int (&x)[4]) {
  __stcg(reinterpret_cast<int4*>(to), make_int4(x[0], x[1], x[2], x[3]));
}
__device__ __forceinline__ void store_cached(Quad* to, const double (&x)[2]) {
  __stcg(reinterpret_cast<double2*>(to), make_double2(x[0], x[1]));
}
__device__ __forceinline__ void load_cached(const Quad* from, float (&x)[4]) {
  const float4 quad = __ldcg(reinterpret_cast<const float4*>(from));
  x[0] = quad.x, x[1] = quad.y, x[2] = quad.z, x[3] = quad.w;
}
__device__ __forceinline__ void load_cached(const Quad* from, int (&x)[4]) {
  const int4 quad = __ldcg(reinterpret_cast<const int4*>(from));
  x[0] = quad.x, x[1] = quad.y, x[2] = quad.z, x[3] = quad.w;
}
__device__ __forceinline__ void load_cached(const Quad* from, double (&x)[2]) {
  const double2 quad = __ldcg(reinterpret_cast<const double2*>(from));
  x[0] = quad.x, x[1] = quad.y;
}
// Which of a row's sums is element `element` of a quad: neighbours change places. What is stored
// together must lie in neighbouring registers, as what is read together of B does. In the same
// order a sum and its B would share a bank of registers: so did 834 of the 1024 multiply-adds of a
// step of 64 x 256, and waited for the second of them; now it is 13 (f32, NVRTC 13.0, 2026-11-22).
__device__ __forceinline__ int sum_of_quad(int quad, int element) {
  return quad * kQuad + (element ^ 1);
}

__device__ __forceinline__ int hand_in(const Reduction& reduction, int slice, bool waits,
                                       const Sums& sums) {
#pragma unroll
  for (int row = 0; row < kThreadM; ++row) {
    Quad* const to = quads_of_row(reduction, slice, row);
#pragma unroll
    for (int quad = 0; quad < kQuadsN; ++quad) {
      Quad of_sums;
#pragma unroll
      for (int element = 0; element < kQuad; ++element) {
        of_sums.element[element] = sums[row][sum_of_quad(quad, element)];
      }
      store_cached(to + quad * kThreads, of_sums.element);
    }
  }
  return reduction.begin(waits);
}

// A row's sums, over all slices of K; several are on their way at a time.
constexpr int kSlicesAtOnce = 16 / kQuadsN < kSplitK ? 16 / kQuadsN : kSplitK;
__device__ __forceinline__ void add_row(const Reduction& reduction, int row,
                                        Accumulator (&sums)[kThreadN]) {
#pragma unroll
  for (int n = 0; n < kThreadN; ++n) {
    sums[n] = 0;
  }
#pragma unroll 1
  for (int first = 0; first < kSplitK; first += kSlicesAtOnce) {
    Quad quads[kSlicesAtOnce][kQuadsN];
#pragma unroll
    for (int slice = 0; slice < kSlicesAtOnce; ++slice) {
#pragma unroll
      for (int quad = 0; quad < kQuadsN; ++quad) {
        if (first + slice < kSplitK) {
          load_cached(quads_of_row(reduction, first + slice, row) + quad * kThreads,
                      quads[slice][quad].element);
        }
      }
    }
#pragma unroll
    for (int slice = 0; slice < kSlicesAtOnce; ++slice) {
#pragma unroll
      for (int quad = 0; quad < kQuadsN; ++quad) {
        if (first + slice < kSplitK) {
          const Quad& of_slice = quads[slice][quad];
#pragma unroll
          for (int element = 0; element < kQuad; ++element) {
            add(of_slice.element[element], sums[sum_of_quad(quad, element)]);
          }
        }
      }
    }
  }
}
