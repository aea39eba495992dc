// A tile of an operand in shared memory, and the way there from global memory.
//
// A tile is a number of lines, each of neighbours in global memory: a line is one m (or n) where
// memory follows K, and one k otherwise. It is cut into panels as wide as the banks of shared
// memory, 128 bytes (or the largest power of two that divides a line, if that is less). A panel has
// all lines, one after the other; inside a line, units of 16 or 32 bytes are swizzled:
//
//         a panel's lines       unit 0  1  2  3  4  5  6  7       eight lines, the same unit of
//              line 0                0  1  2  3  4  5  6  7       each: all banks, each once
//              line 1                1  0  3  2  5  4  7  6
//              line 2                2  3  0  1  6  7  4  5       unit u of line l lies at
//                ...                          ...                 u ^ (l % 8)
//
// Narrower panels: as many lines as fill 128 bytes share their swizzle.
#pragma once

#include "../ptx/cp_async.cuh"

struct Tile {
  int lines;
  int line_bytes;
  int element_bytes;
  bool follows_k;   // a line is one m or n; otherwise it is one k
  int unit_bytes;   // what one of the lanes that read together reads: 16, or 32 where two share it
  bool shuffles_k;  // the lines are not in the order of memory: see line_in_memory
  int copy_bytes;   // what one copy moves
  bool asynchronous;  // by cp.async, else element by element through registers
  int threads;        // that copy it
};

__host__ __device__ constexpr int panel_bytes(Tile tile) {
  const int power_of_two = tile.line_bytes & -tile.line_bytes;
  return power_of_two < 128 ? power_of_two : 128;
}

__host__ __device__ constexpr int tile_bytes(Tile tile) {
  return tile.lines * tile.line_bytes;
}

// Where byte `byte` of line `line` lies.
__device__ __forceinline__ int place_in_tile(Tile tile, int line, int byte) {
  const int width = panel_bytes(tile);
  const int swizzle = line * width / 128 % (width / tile.unit_bytes) * tile.unit_bytes;
  return (byte / width * tile.lines + line) * width + (byte % width ^ swizzle);
}

// The place that is `lines` and `bytes` further, both constants, where that changes neither the
// swizzle (`lines` is a multiple of those after which it recurs) nor any bit of the byte that is
// set. What is not constant is then computed once for all places of a thread.
__device__ __forceinline__ int further_in_tile(Tile tile, int place, int lines, int bytes) {
  const int width = panel_bytes(tile);
  return (place ^ bytes % width) + (bytes / width * tile.lines + lines) * width;
}
__host__ __device__ constexpr int lines_of_a_swizzle(Tile tile) {
  return 128 / tile.unit_bytes;
}

// Which line of global memory line `line` of the tile is. Where k is shuffled, of every 16 the
// lines 0 1 4 5 8 9 12 13 come first, then 2 3 6 7 10 11 14 15: see fragment.cuh.
__host__ __device__ constexpr int line_in_memory(Tile tile, int line) {
  return tile.shuffles_k ? (line & ~15) | (line & 6) << 1 | (line & 8) >> 2 | (line & 1) : line;
}

// How the threads share the work: side by side along a line of a panel, then along the lines, then,
// if there are more threads than lines, along the panels. Round by round they cover all.
__host__ __device__ constexpr int threads_on_line(Tile tile) {
  return panel_bytes(tile) / tile.copy_bytes;
}
__host__ __device__ constexpr int lines_a_round(Tile tile) {
  const int lines = tile.threads / threads_on_line(tile);
  return lines < tile.lines ? lines : tile.lines;
}
__host__ __device__ constexpr int panels_a_round(Tile tile) {
  return tile.threads / threads_on_line(tile) / lines_a_round(tile);
}
__host__ __device__ constexpr int rounds_of_lines(Tile tile) {
  return (tile.lines + lines_a_round(tile) - 1) / lines_a_round(tile);
}
__host__ __device__ constexpr int rounds_of_panels(Tile tile) {
  return (tile.line_bytes / panel_bytes(tile) + panels_a_round(tile) - 1) / panels_a_round(tile);
}
__host__ __device__ constexpr int rounds(Tile tile) {
  return rounds_of_lines(tile) * rounds_of_panels(tile);
}
// Every thread has something to do in every round.
__host__ __device__ constexpr bool rounds_are_full(Tile tile) {
  return rounds(tile) * tile.threads * tile.copy_bytes == tile_bytes(tile);
}

// One thread's way along K: what it copies in its next round.
struct Copier {
  const char* from;
  long long pitch;  // bytes from one line to the next in global memory
  int mn_left;      // rows (or columns) of the matrix from the tile's first one on
  int line, byte;   // of the first round
  int place;        // in the tile, of the first round
};

__device__ __forceinline__ Copier begin_copies(Tile tile, const void* origin, long long pitch,
                                               long long mn_left) {
  const int group = threadIdx.x / threads_on_line(tile);
  Copier copier;
  copier.pitch = pitch;
  copier.mn_left = static_cast<int>(min(mn_left, 1LL << 16));  // more than a tile is enough
  copier.line = group % lines_a_round(tile);
  copier.byte = group / lines_a_round(tile) * panel_bytes(tile) +
                threadIdx.x % threads_on_line(tile) * tile.copy_bytes;
  copier.place = place_in_tile(tile, copier.line, copier.byte);
  copier.from =
      static_cast<const char*>(origin) + line_in_memory(tile, copier.line) * pitch + copier.byte;
  return copier;
}

// From round `round` to the next one; from the last to the first of the tile that follows along K.
__device__ __forceinline__ void next_round(Tile tile, Copier& copier, int round) {
  const int last_line = line_in_memory(tile, lines_a_round(tile) * (rounds_of_lines(tile) - 1));
  const int panels = panels_a_round(tile) * panel_bytes(tile);
  if ((round + 1) % rounds_of_lines(tile) != 0) {
    const int in_panel = round % rounds_of_lines(tile) * lines_a_round(tile);
    copier.from +=
        (line_in_memory(tile, in_panel + lines_a_round(tile)) - line_in_memory(tile, in_panel)) *
        copier.pitch;
  } else if (round + 1 != rounds(tile)) {
    copier.from += panels - last_line * copier.pitch;
  } else {
    const int back = (rounds_of_panels(tile) - 1) * panels;
    copier.from += tile.follows_k ? tile.line_bytes - back - last_line * copier.pitch
                                  : (tile.lines - last_line) * copier.pitch - back;
  }
}

// What a thread copies in one round: where it goes, and how many bytes of it exist.
struct Piece {
  bool exists;
  int to;
  int present;  // bytes inside the matrix; the others count as zeros
};

// `k_left` counts the k of the matrix from the tile's first one on.
__device__ __forceinline__ Piece piece_of_round(Tile tile, const Copier& copier, int round,
                                                int k_left) {
  const int lines = round % rounds_of_lines(tile) * lines_a_round(tile);
  const int bytes = round / rounds_of_lines(tile) * panels_a_round(tile) * panel_bytes(tile);
  const int line = copier.line + lines, byte = copier.byte + bytes;
  const int lines_left = tile.follows_k ? copier.mn_left : k_left;
  const int bytes_left = (tile.follows_k ? k_left : copier.mn_left) * tile.element_bytes;
  Piece piece;
  piece.exists = rounds_are_full(tile) || (line < tile.lines && byte < tile.line_bytes);
  piece.to = lines % lines_of_a_swizzle(tile) == 0
                 ? further_in_tile(tile, copier.place, lines, bytes)
                 : place_in_tile(tile, line, byte);
  piece.present =
      line_in_memory(tile, line) < lines_left ? min(max(bytes_left - byte, 0), tile.copy_bytes) : 0;
  return piece;
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

// Elements on their way through registers: 8 a round.
constexpr int kElementsInFlight = 8;

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

// The rounds of a tile in `steps` portions, one after the other, to `to`. What does not go
// asynchronously is in `elements` until finish_copies, which is called with the same arguments.
__host__ __device__ constexpr int rounds_in_flight(Tile tile, int steps) {
  return tile.asynchronous ? 1 : (rounds(tile) + steps - 1) / steps;
}

__device__ __forceinline__ void start_copies(Tile tile, Copier& copier, char* to, int step,
                                             int steps, int k_left,
                                             unsigned short (*elements)[kElementsInFlight]) {
  const int first = rounds(tile) * step / steps, end = rounds(tile) * (step + 1) / steps;
#pragma unroll
  for (int round = first; round < end; ++round) {
    const Piece piece = piece_of_round(tile, copier, round, k_left);
    if (!tile.asynchronous) {
      load_elements(tile, copier.from, piece.exists ? piece.present : 0, elements[round - first]);
    } else if (piece.exists) {
      copy_asynchronously(tile, to + piece.to, copier.from, piece.present);
    }
    next_round(tile, copier, round);
  }
}

__device__ __forceinline__ void finish_copies(Tile tile, const Copier& copier, char* to, int step,
                                              int steps,
                                              const unsigned short (*elements)[kElementsInFlight]) {
  const int first = rounds(tile) * step / steps, end = rounds(tile) * (step + 1) / steps;
#pragma unroll
  for (int round = first; round < end; ++round) {
    const Piece piece = piece_of_round(tile, copier, round, 0);
    if (!tile.asynchronous && piece.exists) {
      store_elements(tile, to + piece.to, elements[round - first]);
    }
  }
}
