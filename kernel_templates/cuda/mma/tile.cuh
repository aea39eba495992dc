// A k tile of an operand in shared memory, and the copies that load it from global memory.
//
// A row of a tile is contiguous in global memory. It runs along K if the operand is K-major, and
// along M (or N) if it is MN-major. Rows are cut into atom columns. The width of an atom column is
// the largest power of two that divides a row, but at most 128 bytes, the width of all banks of
// shared memory. An atom column holds its part of every row, in order. The chunks of a row, 16 or
// 32 bytes each, are swizzled, so that reading the same chunk of eight rows has no bank conflicts:
//
//         a swizzle atom        chunk 0  1  2  3  4  5  6  7
//              row 0                  0  1  2  3  4  5  6  7
//              row 1                  1  0  3  2  5  4  7  6       chunk c of row r lies at
//              row 2                  2  3  0  1  6  7  4  5       c ^ (r % 8)
//               ...                           ...
//
// If an atom column is narrower, the rows that together fill 128 bytes have the same swizzle.
//
// A Tile is a constant, and functions take it by value.
#pragma once

#include "../common/unaligned_vectors.cuh"
#include "../ptx/cp_async.cuh"
#include "shape.h"

using namespace tunedgemm::internal;

struct Tile {
  int rows, row_bytes, element_bytes;
  bool is_k_major;
  int chunk_bytes;    // 16, or 32 if lanes read 32 or more neighbouring bytes
  bool permutes_k;    // rows are not in the order of global memory: see source_row()
  int copy_bytes;     // of one copy by a thread
  bool asynchronous;  // copies are cp.async; otherwise vectors go through registers
  int threads;        // that copy the tile
};

__host__ __device__ constexpr int tile_bytes(Tile tile) {
  return tile.rows * tile.row_bytes;
}
__host__ __device__ constexpr int atom_row_bytes(Tile tile) {
  const int power_of_two = tile.row_bytes & -tile.row_bytes;
  return power_of_two < 128 ? power_of_two : 128;
}
__host__ __device__ constexpr int swizzle_period(Tile tile) {  // in rows
  return 128 / tile.chunk_bytes;
}

// The offset of a row's byte from the start of the tile.
__device__ __forceinline__ int offset_in_tile(Tile tile, int row, int byte) {
  const int width = atom_row_bytes(tile);
  const int swizzle = row * width / 128 % (width / tile.chunk_bytes) * tile.chunk_bytes;
  return (byte / width * tile.rows + row) * width + (byte % width ^ swizzle);
}

// Returns `offset` advanced by `rows` and `bytes`, both constants. `rows` must be a multiple of the
// swizzle's period. `bytes` must have no bit in common with the position of `offset` in its row. A
// thread therefore computes one offset at run time and derives all others from it.
__device__ __forceinline__ int advance_in_tile(Tile tile, int offset, int rows, int bytes) {
  const int width = atom_row_bytes(tile);
  return (offset ^ bytes % width) + (bytes / width * tile.rows + rows) * width;
}

// The row of global memory that becomes `row` of the tile. If k is permuted, every group of 16 rows
// has the order 0 1 4 5 8 9 12 13, 2 3 6 7 10 11 14 15 (fragment.cuh says why).
__host__ __device__ constexpr int source_row(Tile tile, int row) {
  return tile.permutes_k ? (row & ~15) | (row & 6) << 1 | (row & 8) >> 2 | (row & 1) : row;
}

// The threads cover a tile in passes of one copy per thread. Consecutive threads fill a row of an
// atom column, then its other rows and, if threads are left, the next atom columns.
__host__ __device__ constexpr int threads_of_row(Tile tile) {
  return atom_row_bytes(tile) / tile.copy_bytes;
}
__host__ __device__ constexpr int rows_of_pass(Tile tile) {
  return mma::least(tile.threads / threads_of_row(tile), tile.rows);
}
__host__ __device__ constexpr int columns_of_pass(Tile tile) {
  return tile.threads / threads_of_row(tile) / rows_of_pass(tile);
}
// Rounds up by hand: with mma::divided_up(), NVRTC generates different code when A and B have equal
// tiles.
__host__ __device__ constexpr int row_passes(Tile tile) {
  return (tile.rows + rows_of_pass(tile) - 1) / rows_of_pass(tile);
}
__host__ __device__ constexpr int column_passes(Tile tile) {
  return (tile.row_bytes / atom_row_bytes(tile) + columns_of_pass(tile) - 1) /
         columns_of_pass(tile);
}
__host__ __device__ constexpr int passes(Tile tile) {
  return row_passes(tile) * column_passes(tile);
}
__host__ __device__ constexpr int column_of_pass(Tile tile, int pass) {  // in bytes
  return pass / row_passes(tile) * columns_of_pass(tile) * atom_row_bytes(tile);
}
// Whether every thread copies in every pass.
__host__ __device__ constexpr bool passes_are_full(Tile tile) {
  return passes(tile) * tile.threads * tile.copy_bytes == tile_bytes(tile);
}
// The vectors that are in registers between start() and finish() if copies are not asynchronous.
__host__ __device__ constexpr int vectors_in_flight(Tile tile, int steps) {
  return tile.asynchronous ? 1 : mma::divided_up(passes(tile), steps);
}

// One copy of a thread.
struct Copy {
  bool exists;
  int offset;        // in the tile
  int source_bytes;  // inside the matrix
};

// A thread's copies of an operand, one k tile after another, in kSteps steps.
template <class Type, int kAlignment, int kSteps>
struct TileCopy {
  Span<Type> span;     // the matrix, if copies are not asynchronous
  const char* source;  // of the next copy
  long long pitch;     // bytes between rows in global memory
  int mn_left;         // rows (columns) from the tile's first row to the end of the matrix
  int row, byte;       // of the first pass
  int offset;          // of the first pass, in the tile

  // Starts the copies of steps `step` to `end_step` - 1. k_left is the number of k from the tile's
  // first k to the end of the matrix.
  __device__ __forceinline__ void start(Tile tile, char* memory, int step, int end_step, int k_left,
                                        UnalignedVector* vectors) {
    const int first = (passes(tile) * step / kSteps), end = (passes(tile) * end_step / kSteps);
#pragma unroll
    for (int pass = first; pass < end; ++pass) {
      const Copy copy = copy_of_pass(tile, pass, k_left);
      if (!tile.asynchronous) {
        vectors[pass - first].clear();
        if (copy.exists && copy.source_bytes > 0) {
          vectors[pass - first].load(reinterpret_cast<const Type*>(source), span);
        }
      } else if (copy.exists) {
        copy_asynchronously(tile, memory + copy.offset, copy.source_bytes);
      }
      advance(tile, pass);
    }
  }

  // Stores the vectors that start() has loaded, if copies are not asynchronous.
  __device__ __forceinline__ void finish(Tile tile, char* memory, int step, int end_step,
                                         int k_left, const UnalignedVector* vectors) {
    const int first = (passes(tile) * step / kSteps), end = (passes(tile) * end_step / kSteps);
#pragma unroll
    for (int pass = first; pass < end; ++pass) {
      const Copy copy = copy_of_pass(tile, pass, k_left);
      if (!tile.asynchronous && copy.exists) {
        uint4 bytes = vectors[pass - first].template shifted<kAlignment>();
        // What is outside K must be zero. What is outside M or N only affects elements outside D.
        if (tile.is_k_major && k_left * tile.element_bytes < tile.row_bytes) {
          RowMask<char>(byte + column_of_pass(tile, pass), k_left * tile.element_bytes)
              .apply(bytes);
        }
        *reinterpret_cast<uint4*>(memory + copy.offset) = bytes;
      }
    }
  }

  __device__ __forceinline__ Copy copy_of_pass(Tile tile, int pass, int k_left) const {
    const int more_rows = pass % row_passes(tile) * rows_of_pass(tile);
    const int more_bytes = column_of_pass(tile, pass);
    const int pass_row = row + more_rows, pass_byte = byte + more_bytes;
    const int rows_left = tile.is_k_major ? mn_left : k_left;
    const int bytes_left = (tile.is_k_major ? k_left : mn_left) * tile.element_bytes;
    Copy copy;
    copy.exists = passes_are_full(tile) || (pass_row < tile.rows && pass_byte < tile.row_bytes);
    copy.offset = more_rows % swizzle_period(tile) == 0
                      ? advance_in_tile(tile, offset, more_rows, more_bytes)
                      : offset_in_tile(tile, pass_row, pass_byte);
    copy.source_bytes = source_row(tile, pass_row) < rows_left
                            ? min(max(bytes_left - pass_byte, 0), tile.copy_bytes)
                            : 0;
    return copy;
  }

  // Moves `source` from a pass to the next one, and from the last pass to the next k tile.
  __device__ __forceinline__ void advance(Tile tile, int pass) {
    const int last_row = source_row(tile, rows_of_pass(tile) * (row_passes(tile) - 1));
    const int columns = columns_of_pass(tile) * atom_row_bytes(tile);
    if ((pass + 1) % row_passes(tile) != 0) {
      const int pass_row = pass % row_passes(tile) * rows_of_pass(tile);
      source +=
          (source_row(tile, pass_row + rows_of_pass(tile)) - source_row(tile, pass_row)) * pitch;
    } else if (pass + 1 != passes(tile)) {
      source += columns - last_row * pitch;
    } else {
      const int back = (column_passes(tile) - 1) * columns;
      source += tile.is_k_major ? tile.row_bytes - back - last_row * pitch
                                : (tile.rows - last_row) * pitch - back;
    }
  }

  __device__ __forceinline__ void copy_asynchronously(Tile tile, char* to, int source_bytes) const {
    if (tile.copy_bytes == 16) {
      copy_16_bytes(to, source, source_bytes);
    } else if (tile.copy_bytes == 8) {
      copy_8_bytes(to, source, source_bytes);
    } else {
      copy_4_bytes(to, source, source_bytes);
    }
  }
};

template <int kAlignment, int kSteps, class Type>
__device__ __forceinline__ TileCopy<Type, kAlignment, kSteps> make_tile_copy(Tile tile,
                                                                             const Type* origin,
                                                                             long long pitch,
                                                                             long long mn_left) {
  const int row = threadIdx.x / threads_of_row(tile);
  TileCopy<Type, kAlignment, kSteps> copy;
  copy.pitch = pitch;
  copy.mn_left = static_cast<int>(min(mn_left, 1LL << 16));  // more than a tile is enough
  copy.row = row % rows_of_pass(tile);
  copy.byte = row / rows_of_pass(tile) * atom_row_bytes(tile) +
              threadIdx.x % threads_of_row(tile) * tile.copy_bytes;
  copy.offset = offset_in_tile(tile, copy.row, copy.byte);
  copy.source =
      reinterpret_cast<const char*>(origin) + source_row(tile, copy.row) * pitch + copy.byte;
  return copy;
}
