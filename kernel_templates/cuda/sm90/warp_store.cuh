// A warp's 16 rows of sums, as the products of a warpgroup leave them (wgmma.cuh), to D. Expects
// kEpilogueStages, kEpilogueStageBytes and kSwapAB as constants.
#pragma once

#include "../common/store.cuh"
#include "../ptx/wgmma.cuh"
#include "eviction.cuh"
#include "matrix_store.cuh"
#include "reduction.cuh"

// D's elements are zero where there is no such element: it must not be read for.
__device__ __forceinline__ TypeD finish_inside(const Arguments& arguments, const Epilogue& epilogue,
                                               Accumulator sum, long long m, long long n) {
  constexpr bool reads = kReadC || kBias != Bias::kNone;
  return reads && (m >= arguments.m || n >= arguments.n) ? TypeD{} : finish(epilogue, sum, m, n);
}

// Sums leave in blocks of 16 columns; 8 columns that are left over, by themselves.
constexpr int kBlockColumns = kSliceColumns / 16 * 16;

constexpr int kLineBytes = kBlockColumns * sizeof(TypeD) % 128 == 0  ? 128
                           : kBlockColumns * sizeof(TypeD) % 64 == 0 ? 64
                                                                     : 32;
constexpr int kLineColumns = kLineBytes / sizeof(TypeD);
// A copy takes a box of 16 lines. As many boxes are prepared together as a place has room for.
constexpr int kBoxBytes = 16 * kLineBytes;
constexpr int kPlaceColumns = kEpilogueStageBytes / kBoxBytes * kLineColumns;

// A warp's 16 rows of the last 8 columns of a slice, D[m, n] the first of them, straight from the
// registers. Where A and B have been exchanged, a row here is a column of what is asked.
__device__ __forceinline__ void store_left_over(const Arguments& arguments,
                                                const Epilogue& epilogue, long long entry, int m,
                                                int n,
                                                const Accumulator (&sums)[kSliceColumns / 2]) {
  const int lane = threadIdx.x % 32;
  TypeD* const d = batch_entry_d(arguments, entry);
#pragma unroll
  for (int i = 0; kBlockColumns + 2 * i < kSliceColumns; ++i) {
    const int row = m + lane / 4 + i / 2 * 8, column = n + lane % 4 * 2 + i % 2;
    if (row < arguments.m && column < arguments.n) {
      const long long offset =
          kSwapAB ? offset_d(arguments, column, row) : offset_d(arguments, row, column);
      d[offset] = finish(epilogue, sums[kBlockColumns / 2 + i], row, column);
    }
  }
}

// The compiler no longer knows what the number was made of. Otherwise it computes the addresses of
// all columns first, and the sums have to make room for them.
__device__ __forceinline__ void forget_origin(int& number) {
  asm volatile("" : "+r"(number));
}

// Where a warp prepares its lines: in one of kEpilogueStages places, by turns.
struct Staging {
  unsigned address;
  int offset = 0;  // of the place that is next
};
// The place for the next `bytes`. Before it is written to, the thread that copies has to wait until
// what was there has been read: wait_until_read(kEpilogueStages - 1).
__device__ __forceinline__ unsigned next_place(Staging& staging, int bytes) {
  const unsigned place = staging.address + staging.offset;
  staging.offset = kEpilogueStages == 1 ? 0 : staging.offset ^ bytes;
  return place;
}

// A warp's 16 rows of sums from D[m, n0] on, by TMA, a place at a time; where there are two places,
// the copies of one are on their way while the other one is prepared. The thread that copies
// is told by its number and not elected: the compiler then makes a loop of the copy, beyond which
// it moves nothing. Otherwise it finishes all sums before the first ones leave (s8 nt 4096^3, H200,
// 2026-11-22: 95.6 us in place of 92.4).
__device__ __forceinline__ void store_by_tensor_copies(
    const Arguments& arguments, const TensorMap& d, const Epilogue& epilogue, long long entry,
    int m, int n0, Staging& staging, const Accumulator (&sums)[kSliceColumns / 2]) {
  const int lane = threadIdx.x % 32;
  int n = n0;
#pragma unroll
  for (int column = 0; column < kBlockColumns; column += kPlaceColumns) {
    const int columns = min(kPlaceColumns, kBlockColumns - column);
    const unsigned lines = next_place(staging, kEpilogueStageBytes);
    if (lane == 0) {
      wait_until_read(kEpilogueStages - 1);
    }
    __syncwarp();
#pragma unroll
    for (int prepared = 0; prepared < columns; prepared += 16) {
      TypeD elements[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        elements[i] =
            finish_inside(arguments, epilogue, sums[(column + prepared) / 2 + i],
                          m + lane / 4 + i / 2 % 2 * 8, n + lane % 4 * 2 + i / 4 * 8 + i % 2);
      }
      put_block(lines + prepared / kLineColumns * kBoxBytes, kLineBytes, prepared % kLineColumns,
                packed(elements));
      n += 16;
      forget_origin(n);
    }
    show_to_copies();
    __syncwarp();
    if (lane == 0) {
      const Caching caching = caching_with(kEvictionD);
#pragma unroll
      for (int box = 0; box < columns; box += kLineColumns) {
        store_box(d, lines + box / kLineColumns * kBoxBytes, n0 + column + box, m, entry, caching);
      }
      end_store_group();
    }
  }
  store_left_over(arguments, epilogue, entry, m, n0 + kBlockColumns, sums);
}

// The same by the warp's threads, which can do everything.
constexpr int kSpreadColumns = kBlockColumns % 32 == 0 ? 32 : 16;
constexpr int kSpreadPitch = kSpreadColumns + 8;
__device__ __forceinline__ void store_by_threads(const Arguments& arguments,
                                                 const Epilogue& epilogue, long long entry, int m,
                                                 int n0, Accumulator* staging,
                                                 const Accumulator (&sums)[kSliceColumns / 2]) {
  constexpr int runs_a_row = kSpreadColumns / kVectorElements;
#pragma unroll
  for (int column = 0; column < kBlockColumns; column += kSpreadColumns) {
#pragma unroll
    for (int n = 0; n < kSpreadColumns; n += 16) {
      const int first = (column + n) / 2;
      const Accumulator left[4] = {sums[first], sums[first + 1], sums[first + 2], sums[first + 3]};
      const Accumulator right[4] = {sums[first + 4], sums[first + 5], sums[first + 6],
                                    sums[first + 7]};
      fragments_to_shared(left, right, false, false, staging + n, kSpreadPitch);
    }
    __syncwarp();
#pragma unroll 1
    for (int run = threadIdx.x % 32; run < 16 * runs_a_row; run += 32) {
      const int row = run / runs_a_row, n = run % runs_a_row * kVectorElements;
      store_vector(arguments, epilogue, entry,
                   *reinterpret_cast<const AccumulatorVector*>(staging + row * kSpreadPitch + n),
                   m + row, n0 + column + n);
    }
    __syncwarp();
  }
  store_left_over(arguments, epilogue, entry, m, n0 + kBlockColumns, sums);
}
