// The 64 rows of sums of a warpgroup to a D that lies column by column: what a row-major D is when
// A and B have been exchanged. Expects what warp_store.cuh does.
#pragma once

#include "../common/split_k.cuh"
#include "warp_store.cuh"

// A line in shared memory has 128 bytes of a column; as many slabs of lines as it takes for 64
// rows. One copy takes 16 lines of a slab.
constexpr int kRowsOfLine = 128 / sizeof(TypeD);
constexpr int kLineSlabs = 64 / kRowsOfLine;
constexpr int kLinesOfCopy = 16;
// Columns that are prepared together, in the places of four warps.
constexpr int kPreparedBytes = 4 * kEpilogueStageBytes;
constexpr int kPreparedColumns = kPreparedBytes / (128 * kLineSlabs);
constexpr int kPreparedSlab = kPreparedColumns * 128;  // bytes

// One thread: the columns that have been prepared, to D[m, n].
__device__ __forceinline__ void store_columns(const TensorMap& d, unsigned lines, int m, int n,
                                              int columns, long long entry) {
  const Caching caching = caching_with(kEvictionD);
#pragma unroll
  for (int column = 0; column < columns; column += kLinesOfCopy) {
#pragma unroll
    for (int slab = 0; slab < kLineSlabs; ++slab) {
      store_box(d, lines + slab * kPreparedSlab + column * 128, m + slab * kRowsOfLine, n + column,
                static_cast<int>(entry), caching);
    }
  }
}

// From D[m, n0] on; where there are two places, a group of copies is on its way while the next
// columns are prepared.
__device__ __forceinline__ void store_transposed(const Arguments& arguments, const TensorMap& d,
                                                 const Epilogue& epilogue, long long entry, int m,
                                                 int n0, const ThreadGroup& team, Staging& staging,
                                                 const Accumulator (&sums)[kSliceColumns / 2]) {
  const int lane = team.thread % 32, first_row = team.thread / 32 * 16;
  int n = n0;
#pragma unroll
  for (int column = 0; column < kBlockColumns; column += kPreparedColumns) {
    const int columns = min(kPreparedColumns, kBlockColumns - column);
    const unsigned lines = next_place(staging, kPreparedBytes);
    if (team.thread == 0) {
      wait_until_read(kEpilogueStages - 1);
    }
    sync(team);
#pragma unroll
    for (int prepared = 0; prepared < columns; prepared += 16) {
      TypeD elements[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        elements[i] = finish_inside(arguments, epilogue, sums[(column + prepared) / 2 + i],
                                    m + first_row + lane / 4 + i / 2 % 2 * 8,
                                    n + lane % 4 * 2 + i / 4 * 8 + i % 2);
      }
      put_block_transposed(lines + first_row / kRowsOfLine * kPreparedSlab, prepared,
                           first_row % kRowsOfLine, packed(elements));
      n += 16;
      forget_origin(n);
    }
    show_to_copies();
    sync(team);
    if (team.thread == 0) {
      store_columns(d, lines, m, n0 + column, columns, entry);
      end_store_group();
    }
  }
  store_left_over(arguments, epilogue, entry, m + first_row, n0 + kBlockColumns, sums);
}
