// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        D is M x N
//
// Read transposed_b.cc first. New here: a register tile of D stays in SIMD registers for a whole
// block of K, and its operands are packed into cached memory in the order of use.
//
//                      tile_n vectors
//                        +------+            packed panel of B: k after k, tile_n vectors each
//                        |      | block_k
//      block_k           |      |            for every k:
//      +--------+        +------+              row = the panel's vectors at k
//      | tile_m |        +------+              accumulators[m] += A[m][k] * row,  m < tile_m
//      +--------+        |      |
//      | tile_m |        +------+            tile_m * tile_n vectors of accumulators: for every k,
//      +--------+        |      |            as many multiply-adds and tile_m + tile_n loads
//      packed block      +------+
//      of A: block_m     block_m x tile_n of D
//
// D is divided among the threads as a grid of split_m x split_n parts. A part is computed in blocks
// of block_m rows, block_n columns and a depth of block_k. The block of A is packed and stays in
// the second-level cache, while one panel of B after another is multiplied by all tiles of the
// block. A row-major panel that needs no conversion is packed while the first tile is multiplied by
// it. This needs no additional loads, and the stores are free. Packing widens small types to the
// accumulator type. Tiles that reach beyond a matrix are padded with zeros.
//
// If K is longer than block_k, partial tiles are kept in scratch between the blocks. Every
// accumulator adds its products one after the other in the order of K, whatever the config.
//
// Cost: 1 + tile_n + tile_m * tile_n vector registers. Scratch per thread, in accumulators: block_m
// * block_k + block_k * panel + block_m * block_n.
//
//   c++ -std=c++20 -O3 -march=native -ffp-contract=fast -shared -fPIC -Ikernel_templates/cuda
//       kernel_templates/host/blocked/kernel.cc

// ---- 2. Knobs -----------------------------------------------------------------------------------
#ifndef VECTOR_BYTES
#define VECTOR_BYTES 32  // of one SIMD register
#endif
#ifndef TILE_M
#define TILE_M 6  // rows of a register tile
#endif
#ifndef TILE_N
#define TILE_N 2  // vectors in a row of a register tile
#endif
#ifndef BLOCK_M
#define BLOCK_M 256  // rows of a block, rounded down to whole tiles
#endif
#ifndef BLOCK_N
#define BLOCK_N 1024  // columns of a block, rounded down to whole tiles
#endif
#ifndef BLOCK_K
#define BLOCK_K 256  // depth of a block
#endif
#ifndef SPLIT_M
#define SPLIT_M 1  // parts of D from top to bottom
#endif
#ifndef SPLIT_N
#define SPLIT_N 1  // parts of D from left to right
#endif
#ifndef PREFETCH
#define PREFETCH 8  // rows of B to prefetch while packing; 0: the next panel is not prefetched
#endif

#include "../common/epilogue.h"
#include "../common/problem.h"
#include "../common/team.h"
#include "shape.h"
#include "vector.h"

constexpr blocked::Shape kShape{.vector_bytes = VECTOR_BYTES,
                                .tile_m = TILE_M,
                                .vectors = TILE_N,
                                .block_m = BLOCK_M,
                                .block_n = BLOCK_N,
                                .block_k = BLOCK_K,
                                .split_m = SPLIT_M,
                                .split_n = SPLIT_N,
                                .accumulator_bytes = sizeof(Accumulator)};
constexpr int kPrefetch = PREFETCH;
#ifndef SCRATCH_BYTES
#define SCRATCH_BYTES kShape.scratch_bytes()
#endif

// ---- 3. What must hold --------------------------------------------------------------------------
static_assert(kShape.tiles_fit_m(), "block_m must be at least tile_m");
static_assert(kShape.tiles_fit_n(), "block_n must be at least tile_n vectors");
static_assert(SCRATCH_BYTES == kShape.scratch_bytes(),
              "SCRATCH_BYTES must be a block of A, a panel of B and a block of accumulators");

// Short names for the values that follow from the knobs.
constexpr int kTileM = kShape.tile_m, kVectors = kShape.vectors, kTileN = kShape.tile_n();
constexpr long long kTilesM = kShape.tiles_m(), kTilesN = kShape.tiles_n();  // of a block
constexpr long long kBlockK = kShape.block_k;
constexpr long long kPackedA = kShape.packed_a(), kPackedB = kShape.packed_b();

// ---- 4. Mainloop --------------------------------------------------------------------------------
struct Range {
  long long first, count;
};

// Divides `all` into `parts` parts whose sizes differ by at most one. Returns part number `part`.
inline Range part_of(Range all, long long parts, long long part) {
  const long long begin = all.count * part / parts;
  const long long end = all.count * (part + 1) / parts;
  return {all.first + begin, end - begin};
}

inline long long divide_up(long long dividend, long long divisor) {
  return (dividend + divisor - 1) / divisor;
}

// The number of elements from `first` on that are inside `extent`, at most a tile.
inline int count_inside(long long extent, long long first, int tile) {
  return extent - first < tile ? static_cast<int>(extent - first) : tile;
}

// pack_along() and pack_across() pack kWidth lines: rows of A or columns of B. out[k * kWidth +
// line] is a line's element at k. Only `lines` lines exist; the others become zeros.

// Used if k is the slow dimension. Copies the elements of all lines at one k, then at the next.
template <int kWidth>
inline void pack_along(Accumulator* out, const auto* source, long long stride, long long depth,
                       int lines) {
  for (long long k = 0; k < depth; ++k) {
    for (int line = 0; line < kWidth; ++line) {
      out[k * kWidth + line] =
          line < lines ? Accumulator(widen(source[k * stride + line])) : Accumulator(0);
    }
  }
}

// Loads rows of kLanes adjacent elements. Rows from `lines` on are zeros. `auto` stands for the
// types of A and B. Loops that widen elements stay rolled, since they would take seconds to compile
// if unrolled.
template <int kRows>
inline void load_rows(Vector (&rows)[kRows], const Accumulator* source, long long stride,
                      int lines) {
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
    rows[row] = row < lines ? load(source + row * stride) : Vector{};
  }
}

template <int kRows>
inline void load_rows(Vector (&rows)[kRows], const auto* source, long long stride, int lines) {
#pragma GCC unroll 1
  for (int row = 0; row < kRows; ++row) {
    Accumulator wide[kLanes] = {};
    if (row < lines) {
#pragma GCC unroll 1
      for (int lane = 0; lane < kLanes; ++lane) {
        wide[lane] = widen(source[row * stride + lane]);
      }
    }
    rows[row] = load(wide);
  }
}

// Used if k is the fast dimension. Transposes one square after another in registers; the last one
// may overlap the one before it. Vectors are stored whole, so a store to the last group of lines
// overwrites the first group of the next k, which must be written later. Groups are therefore
// packed from the last to the first, and k in ascending order. A depth below a square is packed
// element by element, in loops that stay rolled.
template <int kWidth>
inline void pack_across(Accumulator* out, const auto* source, long long stride, long long depth,
                        int lines) {
  constexpr bool kSmallPower = kWidth < kLanes && (kWidth & (kWidth - 1)) == 0;
  constexpr int kRows = kSmallPower ? kWidth : kLanes;
  constexpr int kStoreStride = kSmallPower ? kLanes : kWidth;
  constexpr int kLastGroup = (kWidth - 1) / kRows * kRows;
  if (depth < kLanes) {
#pragma GCC unroll 1
    for (int line = 0; line < kWidth; ++line) {
#pragma GCC unroll 1
      for (long long k = 0; k < depth; ++k) {
        out[k * kWidth + line] =
            line < lines ? Accumulator(widen(source[line * stride + k])) : Accumulator(0);
      }
    }
    return;
  }
  for (long long next = 0; next < depth; next += kLanes) {
    const long long k0 = next < depth - kLanes ? next : depth - kLanes;
#pragma GCC unroll 1
    for (int group = kLastGroup; group >= 0; group -= kRows) {
      Vector rows[kRows];
      load_rows(rows, source + group * stride + k0, stride, lines - group);
      transpose(rows);
#pragma GCC unroll 16
      for (int row = 0; row < kRows; ++row) {
        store(out + k0 * kWidth + group + row * kStoreStride, rows[row]);
      }
    }
  }
}

// Multiplies packed lines by the scales of their blocks; scale_of(line, k) is a block's. Lines that
// do not exist keep their zeros.
template <int kWidth>
inline void scale_blocks(Accumulator* packed, Range depth, int lines, const auto& scale_of) {
  const long long end = depth.first + depth.count;
  for (long long k0 = depth.first; k0 < end;) {
    const long long next = (k0 / kScaledDepth + 1) * kScaledDepth,
                    end_of_block = next < end ? next : end;
    Accumulator scales[kWidth] = {};
    for (int line = 0; line < lines; ++line) {
      scales[line] = static_cast<Accumulator>(scale_of(line, k0));
    }
    for (; k0 < end_of_block; ++k0) {
      for (int line = 0; line < kWidth; ++line) {
        *packed++ *= scales[line];
      }
    }
  }
}

inline void pack_block_of_a(const Arguments& arguments, long long batch_index, GroupRange rows_of_a,
                            Range tiles, Range depth, Accumulator* packed) {
  const TypeA* a = matrix_a(arguments, batch_index);
  for (long long tile = 0; tile < tiles.count; ++tile) {
    const long long m0 = rows_of_a.begin + (tiles.first + tile) * kTileM;
    const TypeA* source = a + offset_a(arguments, m0, depth.first);
    Accumulator* out = packed + tile * kTileM * depth.count;
    const int rows = count_inside(rows_of_a.end, m0, kTileM);
    if (kRowMajorA) {
      pack_across<kTileM>(out, source, arguments.lda, depth.count, rows);
    } else {
      pack_along<kTileM>(out, source, arguments.lda, depth.count, rows);
    }
    if constexpr (kHasBlocksA) {
      scale_blocks<kTileM>(out, depth, rows, [&](int row, long long k) {
        return arguments.scale_a[offset_scale_a(arguments, batch_index, m0 + row, k)];
      });
    }
  }
}

inline void pack_panel_of_b(const Arguments& arguments, long long batch_index, long long n0,
                            Range depth, int columns, Accumulator* packed) {
  const TypeB* source = matrix_b(arguments, batch_index) + offset_b(arguments, depth.first, n0);
  if (kRowMajorB) {
    pack_along<kTileN>(packed, source, arguments.ldb, depth.count, columns);
  } else {
    pack_across<kTileN>(packed, source, arguments.ldb, depth.count, columns);
  }
  if constexpr (kHasBlocksB) {
    scale_blocks<kTileN>(packed, depth, columns, [&](int column, long long k) {
      return arguments.scale_b[offset_scale_b(arguments, batch_index, k, n0 + column)];
    });
  }
}

// A row-major B of the accumulator type is packed while the first tile is multiplied.
constexpr bool kPacksWhileMultiplying = kRowMajorB && __is_same(TypeB, Accumulator);

// The accumulators of a register tile.
using Accumulators = Vector[kTileM][kVectors];

inline void add_outer_product(Accumulators& accumulators, const Accumulator* a,
                              const Vector (&row)[kVectors]) {
#pragma GCC unroll 32
  for (int m = 0; m < kTileM; ++m) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      accumulators[m][v] += static_cast<Lane>(a[m]) * row[v];
    }
  }
}

inline void prefetch(const Accumulator* first, int elements) {
  constexpr int kLineElements = 64 / static_cast<int>(sizeof(Accumulator));
  for (int element = 0; element < elements; element += kLineElements) {
    __builtin_prefetch(first + element);
  }
  __builtin_prefetch(first + elements - 1);
}

// accumulators += tile of A * panel of B, both packed. Also prefetches one cache line of every row
// from `next` on into the second-level cache. In the first-level cache, rows whose stride is a
// power of two would evict each other.
//
// `next` and its stride are not one struct, because g++ 12 then makes slower code. The same holds
// for `b` and `ldb` of multiply_and_pack().
inline void multiply(Accumulators& accumulators, const Accumulator* a, const Accumulator* b,
                     long long depth, const TypeB* next, long long next_stride) {
#pragma GCC unroll 4
  for (long long k = 0; k < depth; ++k) {
    __builtin_prefetch(next + k * next_stride, 0, 2);
    Vector row[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      row[v] = load(b + k * kTileN + v * kLanes);
    }
    add_outer_product(accumulators, a + k * kTileM, row);
  }
}

// The same for an unpacked row-major panel of B, which this function also packs.
inline void multiply_and_pack(Accumulators& accumulators, const Accumulator* a,
                              const Accumulator* b, long long ldb, long long depth,
                              Accumulator* packed) {
  for (long long k = 0; k < depth; ++k) {
    const Accumulator* source = b + k * ldb;
    if (kPrefetch > 0 && k + kPrefetch < depth) {
      prefetch(source + kPrefetch * ldb, kTileN);
    }
    Vector row[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      row[v] = load(source + v * kLanes);
      store(packed + k * kTileN + v * kLanes, row[v]);
    }
    add_outer_product(accumulators, a + k * kTileM, row);
  }
}

// Never called, since a B that must be widened is packed beforehand: see kPacksWhileMultiplying.
inline void multiply_and_pack(Accumulators&, const Accumulator*, const void*, long long, long long,
                              Accumulator*) {}

inline void load_tile(Accumulators& accumulators, const Accumulator* tile) {
#pragma GCC unroll 32
  for (int m = 0; m < kTileM; ++m) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      accumulators[m][v] = load(tile + m * kTileN + v * kLanes);
    }
  }
}

inline void store_tile(Accumulator* tile, const Accumulators& accumulators) {
#pragma GCC unroll 32
  for (int m = 0; m < kTileM; ++m) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      store(tile + m * kTileN + v * kLanes, accumulators[m][v]);
    }
  }
}

// A panel of B, multiplied by all tiles of the packed block of A.
struct PanelJob {
  const Arguments& arguments;
  long long batch_index;
  const Epilogue& epilogue;
  const Accumulator* packed_a;
  Accumulator* packed_b;
  Accumulator* partial_tiles;  // of this panel, one after the other
  GroupRange rows;             // of the batch index
  Range tiles_m, k;            // of the block
  bool first_of_k, last_of_k;
};

// The tiles after the first prefetch the next panel: each tile prefetches one cache line of every
// row, until all lines are prefetched. This is faster if there are few tiles (Xeon, 2 threads,
// 2026-11-21, f32: 64x4096x4096 264 -> 274 GFLOP/s).
inline void multiply_packed(const PanelJob& job, const TypeB* source, long long n0, int tile,
                            Accumulators& accumulators) {
  constexpr int kLine = 64 / static_cast<int>(sizeof(TypeB));
  const Accumulator* a = job.packed_a + tile * kTileM * job.k.count;
  const int columns = count_inside(job.arguments.n, n0 + kTileN, tile * kLine);
  const bool prefetches = kPrefetch > 0 && kRowMajorB && (tile - 1) * kLine < kTileN && columns > 0;
  const TypeB* line = prefetches ? source + kTileN + columns - 1 : source;
  multiply(accumulators, a, job.packed_b, job.k.count, line, prefetches ? job.arguments.ldb : 0);
}

// ---- 5. Epilogue --------------------------------------------------------------------------------
// Multiplies a panel of B by all tiles of the block of A and, after the last block along K, applies
// the epilogue.
inline void multiply_panel(const PanelJob& job, const TypeB* source, long long n0) {
  const int columns = count_inside(job.arguments.n, n0, kTileN);
  const long long ldb = job.arguments.ldb;
  const bool packs_while_multiplying = kPacksWhileMultiplying && columns == kTileN;
  if (!packs_while_multiplying) {
    pack_panel_of_b(job.arguments, job.batch_index, n0, job.k, columns, job.packed_b);
  }
  for (long long tile = 0; tile < job.tiles_m.count; ++tile) {
    Accumulator* partial_tile = job.partial_tiles + tile * kTileM * kTileN;
    Accumulators accumulators = {};
    if (!job.first_of_k) {
      load_tile(accumulators, partial_tile);
      prefetch(partial_tile + kTileM * kTileN, kTileM * kTileN);  // of the next tile
    }
    if (packs_while_multiplying && tile == 0) {
      multiply_and_pack(accumulators, job.packed_a, source, ldb, job.k.count, job.packed_b);
    } else {
      multiply_packed(job, source, n0, static_cast<int>(tile), accumulators);
    }
    if (!job.last_of_k) {
      store_tile(partial_tile, accumulators);
      continue;
    }
    alignas(64) Accumulator finished[kTileM * kTileN];
    store_tile(finished, accumulators);
    const long long m0 = job.rows.begin + (job.tiles_m.first + tile) * kTileM;
    for (int m = 0; m < count_inside(job.rows.end, m0, kTileM); ++m) {
      store_row(job.epilogue, m0 + m, n0, columns, finished + m * kTileN);
    }
  }
}

// ---- 6. Entry -----------------------------------------------------------------------------------
inline void multiply_part(const Arguments& arguments, long long batch_index, GroupRange rows,
                          Range part_m, Range part_n, Accumulator* scratch) {
  const TypeB* b = matrix_b(arguments, batch_index);
  const Epilogue epilogue = begin_epilogue(arguments, batch_index);
  Accumulator* packed_b = scratch + kPackedA;
  Accumulator* partial_tiles = packed_b + kPackedB;
  const long long blocks_m = divide_up(part_m.count, kTilesM);
  const long long blocks_n = divide_up(part_n.count, kTilesN);
  const GroupRange depth = depth_of(arguments, batch_index);
  const Range all_k{depth.begin, depth.end - depth.begin};
  const long long blocks_k = all_k.count == 0 ? 1 : divide_up(all_k.count, kBlockK);
  for (long long block_m = 0; block_m < blocks_m; ++block_m) {
    const Range tiles_m = part_of(part_m, blocks_m, block_m);
    for (long long block_n = 0; block_n < blocks_n; ++block_n) {
      const Range tiles_n = part_of(part_n, blocks_n, block_n);
      for (long long block_k = 0; block_k < blocks_k; ++block_k) {
        const Range k = part_of(all_k, blocks_k, block_k);
        if (block_n == 0 || blocks_k > 1) {  // else the block is still packed
          pack_block_of_a(arguments, batch_index, rows, tiles_m, k, scratch);
        }
        for (long long panel = 0; panel < tiles_n.count; ++panel) {
          const long long n0 = (tiles_n.first + panel) * kTileN;
          const PanelJob job{
              .arguments = arguments,
              .batch_index = batch_index,
              .epilogue = epilogue,
              .packed_a = scratch,
              .packed_b = packed_b,
              .partial_tiles = partial_tiles + panel * tiles_m.count * kTileM * kTileN,
              .rows = rows,
              .tiles_m = tiles_m,
              .k = k,
              .first_of_k = block_k == 0,
              .last_of_k = block_k + 1 == blocks_k};
          multiply_panel(job, b + offset_b(arguments, k.first, n0), n0);
        }
      }
    }
  }
}

extern "C" void tunedgemm_blocked(const Arguments& arguments, const Team& team) {
  const Range all_n{0, divide_up(arguments.n, kTileN)};
  constexpr int kSplitM = kShape.split_m, kSplitN = kShape.split_n;
  constexpr long long kParts = kShape.parts();
  for (long long job = team.rank; job < arguments.batch * kParts; job += team.size) {
    const long long batch_index = job / kParts, part = job % kParts;
    const GroupRange rows = rows_of(arguments, batch_index);
    const Range all_m{0, divide_up(rows.end - rows.begin, kTileM)};
    multiply_part(arguments, batch_index, rows, part_of(all_m, kSplitM, part / kSplitN),
                  part_of(all_n, kSplitN, part % kSplitN), static_cast<Accumulator*>(team.scratch));
  }
}
