// A tile of an operand in shared memory, and the copies that bring it there from global memory.
//
// A tile consists of lines. The elements of a line are contiguous in global memory: a line is one m
// (or n) of a K-major operand, or one k of an MN-major operand. The tile is cut into columns of
// swizzle atoms. A column is as wide as the banks of shared memory, 128 bytes, or the largest power
// of two that divides a line, if that is less. It holds its part of every line, in order. Inside a
// line, units of 16 or 32 bytes are swizzled, so that reading the same unit of eight lines has no
// bank conflict:
//
//         a swizzle atom        unit 0  1  2  3  4  5  6  7
//              line 0                0  1  2  3  4  5  6  7
//              line 1                1  0  3  2  5  4  7  6       unit u of line l lies at
//              line 2                2  3  0  1  6  7  4  5       u ^ (l % 8)
//                ...                          ...
//
// In narrower columns, as many lines as fill 128 bytes share their swizzle.
#pragma once

#include "../ptx/cp_async.cuh"
#include "shape.h"

using namespace tunedgemm::internal;

using mma::kElementsInFlight;

struct Tile {
  int lines;
  int line_bytes;
  int element_bytes;
  bool k_major;     // a line is one m or n; otherwise it is one k
  int unit_bytes;   // what one of the lanes that read together reads: 16, or 32 where two share it
  bool permutes_k;  // the lines are not in the order of memory: see line_in_memory
  int copy_bytes;   // what one copy moves
  bool asynchronous;  // by cp.async, else element by element through registers
  int threads;        // that copy it
};

__host__ __device__ constexpr int column_bytes(Tile tile) {
  const int power_of_two = tile.line_bytes & -tile.line_bytes;
  return power_of_two < 128 ? power_of_two : 128;
}

__host__ __device__ constexpr int tile_bytes(Tile tile) {
  return tile.lines * tile.line_bytes;
}

// Where byte `byte` of line `line` lies: an offset from the tile's start.
__device__ __forceinline__ int offset_in_tile(Tile tile, int line, int byte) {
  const int width = column_bytes(tile);
  const int swizzle = line * width / 128 % (width / tile.unit_bytes) * tile.unit_bytes;
  return (byte / width * tile.lines + line) * width + (byte % width ^ swizzle);
}

// The offset that is `lines` and `bytes` further, both constants, where that changes neither the
// swizzle (`lines` is a multiple of those after which it recurs) nor any bit of the byte that is
// set. What is not constant is then computed once for all offsets of a thread.
__device__ __forceinline__ int advance_in_tile(Tile tile, int offset, int lines, int bytes) {
  const int width = column_bytes(tile);
  return (offset ^ bytes % width) + (bytes / width * tile.lines + lines) * width;
}
__host__ __device__ constexpr int lines_of_a_swizzle(Tile tile) {
  return 128 / tile.unit_bytes;
}

// Which line of global memory line `line` of the tile is. Where k is permuted, of every 16 the
// lines 0 1 4 5 8 9 12 13 come first, then 2 3 6 7 10 11 14 15: see fragment.cuh.
__host__ __device__ constexpr int line_in_memory(Tile tile, int line) {
  return tile.permutes_k ? (line & ~15) | (line & 6) << 1 | (line & 8) >> 2 | (line & 1) : line;
}

// How the threads are arranged: side by side along a line of a column, then along the lines, then,
// if there are more threads than that, along the columns. Pass by pass they cover the tile.
__host__ __device__ constexpr int threads_on_line(Tile tile) {
  return column_bytes(tile) / tile.copy_bytes;
}
__host__ __device__ constexpr int lines_of_pass(Tile tile) {
  const int lines = tile.threads / threads_on_line(tile);
  return lines < tile.lines ? lines : tile.lines;
}
__host__ __device__ constexpr int columns_of_pass(Tile tile) {
  return tile.threads / threads_on_line(tile) / lines_of_pass(tile);
}
__host__ __device__ constexpr int passes_of_lines(Tile tile) {
  return (tile.lines + lines_of_pass(tile) - 1) / lines_of_pass(tile);
}
__host__ __device__ constexpr int passes_of_columns(Tile tile) {
  return (tile.line_bytes / column_bytes(tile) + columns_of_pass(tile) - 1) / columns_of_pass(tile);
}
__host__ __device__ constexpr int passes(Tile tile) {
  return passes_of_lines(tile) * passes_of_columns(tile);
}
// Every thread copies in every pass.
__host__ __device__ constexpr bool passes_are_full(Tile tile) {
  return passes(tile) * tile.threads * tile.copy_bytes == tile_bytes(tile);
}

// What a thread copies in its next pass.
struct Copier {
  const char* from;
  long long pitch;  // bytes from one line to the next in global memory
  int mn_left;      // rows (or columns) of the matrix from the tile's first one on
  int line, byte;   // of the first pass
  int offset;       // in the tile, of the first pass
};

__device__ __forceinline__ Copier begin_copies(Tile tile, const void* origin, long long pitch,
                                               long long mn_left) {
  const int row = threadIdx.x / threads_on_line(tile);
  Copier copier;
  copier.pitch = pitch;
  copier.mn_left = static_cast<int>(min(mn_left, 1LL << 16));  // more than a tile is enough
  copier.line = row % lines_of_pass(tile);
  copier.byte = row / lines_of_pass(tile) * column_bytes(tile) +
                threadIdx.x % threads_on_line(tile) * tile.copy_bytes;
  copier.offset = offset_in_tile(tile, copier.line, copier.byte);
  copier.from =
      static_cast<const char*>(origin) + line_in_memory(tile, copier.line) * pitch + copier.byte;
  return copier;
}

// From pass `pass` to the next one; from the last to the first of the tile that is next along K.
__device__ __forceinline__ void next_pass(Tile tile, Copier& copier, int pass) {
  const int last_line = line_in_memory(tile, lines_of_pass(tile) * (passes_of_lines(tile) - 1));
  const int columns = columns_of_pass(tile) * column_bytes(tile);
  if ((pass + 1) % passes_of_lines(tile) != 0) {
    const int in_column = pass % passes_of_lines(tile) * lines_of_pass(tile);
    copier.from +=
        (line_in_memory(tile, in_column + lines_of_pass(tile)) - line_in_memory(tile, in_column)) *
        copier.pitch;
  } else if (pass + 1 != passes(tile)) {
    copier.from += columns - last_line * copier.pitch;
  } else {
    const int back = (passes_of_columns(tile) - 1) * columns;
    copier.from += tile.k_major ? tile.line_bytes - back - last_line * copier.pitch
                                : (tile.lines - last_line) * copier.pitch - back;
  }
}

// What a thread copies in one pass: where it goes, and how many bytes of it exist.
struct Copy {
  bool exists;
  int to;
  int present;  // bytes inside the matrix; the others count as zeros
};

// `k_left` counts the k of the matrix from the tile's first one on.
__device__ __forceinline__ Copy copy_of_pass(Tile tile, const Copier& copier, int pass,
                                             int k_left) {
  const int lines = pass % passes_of_lines(tile) * lines_of_pass(tile);
  const int bytes = pass / passes_of_lines(tile) * columns_of_pass(tile) * column_bytes(tile);
  const int line = copier.line + lines, byte = copier.byte + bytes;
  const int lines_left = tile.k_major ? copier.mn_left : k_left;
  const int bytes_left = (tile.k_major ? k_left : copier.mn_left) * tile.element_bytes;
  Copy copy;
  copy.exists = passes_are_full(tile) || (line < tile.lines && byte < tile.line_bytes);
  copy.to = lines % lines_of_a_swizzle(tile) == 0
                ? advance_in_tile(tile, copier.offset, lines, bytes)
                : offset_in_tile(tile, line, byte);
  copy.present =
      line_in_memory(tile, line) < lines_left ? min(max(bytes_left - byte, 0), tile.copy_bytes) : 0;
  return copy;
}

__device__ __forceinline__ void copy_asynchronously(Tile tile, char* to, const char* from,
                                                    int present) {
  if (tile.copy_bytes == 16) {
    copy_16_bytes(to, from, present);
  } else if (tile.copy_bytes == 8) {
    copy_8_bytes(to, from, present);
  } else {
    copy_4_bytes(to, from, present);
  }
}

__device__ __forceinline__ void load_elements(Tile tile, const char* from, int present,
                                              unsigned short (&elements)[kElementsInFlight]) {
#pragma unroll
  for (int element = 0; element < kElementsInFlight; ++element) {
    const char* const here = from + element * tile.element_bytes;
    elements[element] = 0;
    if (element * tile.element_bytes < present) {
      elements[element] = tile.element_bytes == 2 ? *reinterpret_cast<const unsigned short*>(here)
                                                  : *reinterpret_cast<const unsigned char*>(here);
    }
  }
}

__device__ __forceinline__ void store_elements(
    Tile tile, char* to, const unsigned short (&elements)[kElementsInFlight]) {
  if (tile.element_bytes == 2) {
    *reinterpret_cast<uint4*>(to) =
        make_uint4(elements[0] | elements[1] << 16, elements[2] | elements[3] << 16,
                   elements[4] | elements[5] << 16, elements[6] | elements[7] << 16);
  } else {
    *reinterpret_cast<uint2*>(to) =
        make_uint2(elements[0] | elements[1] << 8 | elements[2] << 16 | elements[3] << 24,
                   elements[4] | elements[5] << 8 | elements[6] << 16 | elements[7] << 24);
  }
}

// The passes of a tile in `steps` portions, one after the other, to `to`. What is not copied
// asynchronously is in `elements` until finish_copies, which is called with the same arguments.
__host__ __device__ constexpr int passes_in_flight(Tile tile, int steps) {
  return tile.asynchronous ? 1 : (passes(tile) + steps - 1) / steps;
}

__device__ __forceinline__ void start_copies(Tile tile, Copier& copier, char* to, int step,
                                             int steps, int k_left,
                                             unsigned short (*elements)[kElementsInFlight]) {
  const int first = passes(tile) * step / steps, end = passes(tile) * (step + 1) / steps;
#pragma unroll
  for (int pass = first; pass < end; ++pass) {
    const Copy copy = copy_of_pass(tile, copier, pass, k_left);
    if (!tile.asynchronous) {
      load_elements(tile, copier.from, copy.exists ? copy.present : 0, elements[pass - first]);
    } else if (copy.exists) {
      copy_asynchronously(tile, to + copy.to, copier.from, copy.present);
    }
    next_pass(tile, copier, pass);
  }
}

__device__ __forceinline__ void finish_copies(Tile tile, const Copier& copier, char* to, int step,
                                              int steps,
                                              const unsigned short (*elements)[kElementsInFlight]) {
  const int first = passes(tile) * step / steps, end = passes(tile) * (step + 1) / steps;
#pragma unroll
  for (int pass = first; pass < end; ++pass) {
    const Copy copy = copy_of_pass(tile, copier, pass, 0);
    if (!tile.asynchronous && copy.exists) {
      store_elements(tile, to + copy.to, elements[pass - first]);
    }
  }
}
