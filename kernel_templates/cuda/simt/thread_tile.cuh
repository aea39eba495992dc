// A thread's part of a tile of D: thread_m x thread_n sums in registers, and what it reads for them
// from shared memory (operand.cuh). Expects the tiles, the stages and the operands as constants.
#pragma once

#include "operand.cuh"

// The first row and column of a thread's sums inside the tile. Two by two lanes are neighbours:
// pairs of lanes then ask shared memory for the same 16 bytes both of A and of B, and each is read
// once.
struct ThreadPlace {
  int m, n;
};
__device__ __forceinline__ ThreadPlace place_of_thread() {
  constexpr int warps_n = kBlockN / kWarpN;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int lane_m = lane / 2 % 2 + lane / 4 / (kLanesN / 2) * 2;
  const int lane_n = lane % 2 + lane / 4 % (kLanesN / 2) * 2;
  return {warp / warps_n * kWarpM + lane_m * kQuad, warp % warps_n * kWarpN + lane_n * kQuad};
}

// A thread's sums are patches of quads: from one to the next it is a row (column) of lanes further.
constexpr int kQuadsM = kThreadM / kQuad, kQuadsN = kThreadN / kQuad;
constexpr int kStrideM = kLanesM * kQuad, kStrideN = kLanesN * kQuad;
using Sums = Accumulator[kThreadM][kThreadN];
__device__ __forceinline__ int row_of_sums(const ThreadPlace& place, int row) {
  return place.m + row / kQuad * kStrideM + row % kQuad;
}

// The numbers of A and B at one k.
struct Fragments {
  Quad a[kQuadsM], b[kQuadsN];
};
__device__ __forceinline__ Quad load_quad(const Accumulator* shared, int byte) {
  return *reinterpret_cast<const Quad*>(reinterpret_cast<const char*>(shared) + byte);
}

// Row after row, there and back: where a row ends the next one begins, so that the number of B that
// was read last is at hand, and fewer registers have to be read at a time (f32 4096^3 nn, H200,
// 2026-11-21: 256 x 128 tiles: 2969 -> 2836 us).
__device__ __forceinline__ void multiply(const Fragments& fragments, Sums& sums) {
#pragma unroll
  for (int m = 0; m < kThreadM; ++m) {
#pragma unroll
    for (int column = 0; column < kThreadN; ++column) {
      const int n = m % 2 == 0 ? column : kThreadN - 1 - column;
      multiply_add(fragments.a[m / kQuad].element[m % kQuad],
                   fragments.b[n / kQuad].element[n % kQuad], sums[m][n]);
    }
  }
}

// Where a thread is among the stages: which one it reads, and where in shared memory, in bytes, it
// finds the first k there; what it has read of two k, one of which it multiplies.
struct Reader {
  int stage;
  int a, b;
  Fragments fragments[2];
};
__device__ __forceinline__ Reader begin_reading(const ThreadPlace& place) {
  return {0, place.m * kSumBytes, (kStageA + place.n) * kSumBytes, {}};
}
__device__ __forceinline__ void read(Reader& reader, const Accumulator* shared, int k) {
  Fragments& to = reader.fragments[k % 2];
#pragma unroll
  for (int quad = 0; quad < kQuadsM; ++quad) {
    const int further = k * OperandA::kPitch + quad * kStrideM;
    to.a[quad] = load_quad(shared, reader.a + further * kSumBytes);
  }
#pragma unroll
  for (int quad = 0; quad < kQuadsN; ++quad) {
    const int further = k * OperandB::kPitch + quad * kStrideN;
    to.b[quad] = load_quad(shared, reader.b + further * kSumBytes);
  }
}
// The compiler no longer knows how the places were computed. Otherwise it does so for every k anew.
__device__ __forceinline__ void next_stage(Reader& reader) {
  const bool is_last = reader.stage == kStages - 1;
  const int bytes = (is_last ? 1 - kStages : 1) * kStage * kSumBytes;
  reader.stage = is_last ? 0 : reader.stage + 1;
  reader.a += bytes;
  reader.b += bytes;
  asm volatile("" : "+r"(reader.a), "+r"(reader.b));
}
// The one that is written to meanwhile.
__device__ __forceinline__ int stage_before(const Reader& reader) {
  return reader.stage == 0 ? kStages - 1 : reader.stage - 1;
}
