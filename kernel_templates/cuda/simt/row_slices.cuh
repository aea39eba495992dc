// The parts of a tile of D that blocks hold (parts.cuh), as slices: a few rows of every thread's
// sums.
//
//   int slice = hand_in(tile, part, waits, sums);
//   for (; slice < kSlices; slice = next_slice(tile)) {
//     for each `row` of the slice, from slice * kRowsOfSlice on:
//       add_row(tile, row, sums_of_row);
//   }
//
// Expects kThreadM, kThreadN, kThreads, kSplitK as constants.
#pragma once

#include "thread_tile.cuh"

// As many rows as it takes for every team to have a slice at most.
__host__ __device__ constexpr int rows_of_slice(int thread_m, int split_k) {
  int rows = 1;
  while (thread_m / rows > split_k) {
    rows *= 2;
  }
  return rows;
}
constexpr int kRowsOfSlice = rows_of_slice(kThreadM, kSplitK);
constexpr int kSlices = kThreadM / kRowsOfSlice;

#include "../common/split_k_reduction.cuh"  // needs kSlices

constexpr int kPartElements = kBlockM * kBlockN;

// A thread's quads of a row in a part; neighbours in memory are neighbouring threads.
__device__ __forceinline__ Quad* quads_of_row(const TileOfParts& tile, int part, int row) {
  const int quad = (part * kThreadM + row) * kQuadsN;
  return reinterpret_cast<Quad*>(tile.partials) + quad * kThreads + threadIdx.x;
}
// To the L2 cache, where all multiprocessors see it, and from there.
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

__device__ __forceinline__ int hand_in(const TileOfParts& tile, int part, bool waits,
                                       const Sums& sums) {
#pragma unroll
  for (int row = 0; row < kThreadM; ++row) {
    Quad* const to = quads_of_row(tile, part, row);
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
  return begin_adding(tile, waits);
}

// A row's sums, over all parts; several parts are on their way at a time.
constexpr int kPartsAtOnce = 16 / kQuadsN < kSplitK ? 16 / kQuadsN : kSplitK;
__device__ __forceinline__ void add_row(const TileOfParts& tile, int row,
                                        Accumulator (&sums)[kThreadN]) {
#pragma unroll
  for (int n = 0; n < kThreadN; ++n) {
    sums[n] = 0;
  }
#pragma unroll 1
  for (int first = 0; first < kSplitK; first += kPartsAtOnce) {
    Quad quads[kPartsAtOnce][kQuadsN];
#pragma unroll
    for (int part = 0; part < kPartsAtOnce; ++part) {
#pragma unroll
      for (int quad = 0; quad < kQuadsN; ++quad) {
        if (first + part < kSplitK) {
          load_cached(quads_of_row(tile, first + part, row) + quad * kThreads,
                      quads[part][quad].element);
        }
      }
    }
#pragma unroll
    for (int part = 0; part < kPartsAtOnce; ++part) {
#pragma unroll
      for (int quad = 0; quad < kQuadsN; ++quad) {
        if (first + part < kSplitK) {
          const Quad& of_part = quads[part][quad];
#pragma unroll
          for (int element = 0; element < kQuad; ++element) {
            add(of_part.element[element], sums[sum_of_quad(quad, element)]);
          }
        }
      }
    }
  }
}
