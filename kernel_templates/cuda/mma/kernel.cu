// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        on the tensor cores (sm_80 and later)
//
// Read ../simt/kernel.cu first. New here: a whole warp executes a multiply instruction together.
// The instruction multiplies 16 rows of A by 8 columns of B. These fragments are spread over the
// registers of the warp's 32 lanes (operands.cuh). Tiles in shared memory are swizzled, so that a
// warp loads fragments without bank conflicts (tile.cuh) for every order of the operands
// (fragment.cuh). The kernel supports every layout and alignment. On sm_90, ../wgmma/kernel.cu is
// faster for the types that it supports.
//
//        K, in k tiles            block_n                   a warp, in each step along K:
//       +----------------+        +------+------+------+
//    A  |[]-> pipeline   |        | warp | warp |      |              B   8 8 8 8 8 8 8 8
//       |    of `stages` |        |warp_m x warp_n     | block_m    A  16 # # # # # # # #
//       +----------------+        +------+------+------+              16 # # # # # # # #  warp_m
//    B  [ ]-> tiles               |      |      |      |              16 # # # # # # # #
//                                 +------+------+------+                     warp_n
//
//   for each step of each k tile:  start to copy a part of the k tile that is stages - 1 ahead
//                                  in the last step: wait for the next k tile; barrier
//                                  load the fragments of the next step
//                                  accumulators += a * b
//
// In the epilogue the accumulators go through shared memory, so that a thread stores neighbouring
// elements of a row of D. With split_k > 1, split_k CTAs compute a tile of D, each over a slice of
// K, and the CTA that arrives last adds their partial tiles (../common/split_k.cuh).
//
// f16, bf16, s8 and f64 are multiplied directly. f32 is rounded to tf32 (NUMERICS 1), or split into
// three bf16 (NUMERICS 2, emulated: see operands.cuh). fp8 is multiplied directly if the
// architecture has the instruction and NUMERICS is 3 (fast). Otherwise it is converted to f16, with
// exact products and f32 accumulators.
//
// Cost: stages * block_k * (block_m * sizeof(a) + block_n * sizeof(b)) bytes of shared memory; per
// thread, warp_m * warp_n / 32 accumulators, the fragments of two steps and about 50 other
// registers.
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/mma/kernel.cu

// ---- 2. Knobs -----------------------------------------------------------------------------------
#ifndef TYPE_A
#define TYPE_A f16
#endif
#ifndef TYPE_B
#define TYPE_B f16
#endif
#ifndef TYPE_D
#define TYPE_D f16
#endif
#ifndef NUMERICS
#define NUMERICS 0
#endif
#include "../common/rasterization.cuh"
#include "../common/split_k.cuh"
#include "../common/store.cuh"
#include "fragment.cuh"
#include "operands.cuh"
#include "shape.h"
#include "tile.cuh"

#ifndef BLOCK_M
#define BLOCK_M 128  // rows of a CTA's tile of D
#endif
#ifndef BLOCK_N
#define BLOCK_N 256  // columns of a CTA's tile of D
#endif
#ifndef BLOCK_K
#define BLOCK_K 64  // depth of a k tile
#endif
#ifndef WARP_M
#define WARP_M 64  // rows of the warp tile
#endif
#ifndef WARP_N
#define WARP_N 64  // columns of the warp tile
#endif
#ifndef STAGES
#define STAGES 3  // k tiles in shared memory: one is multiplied while the others are copied
#endif
#ifndef GROUP_M
#define GROUP_M 8  // rows of tiles in a rasterization group
#endif
#ifndef SPLIT_K
#define SPLIT_K 1  // slices of K
#endif
constexpr mma::Shape kShape{.block_m = BLOCK_M,
                            .block_n = BLOCK_N,
                            .block_k = BLOCK_K,
                            .warp_m = WARP_M,
                            .warp_n = WARP_N,
                            .stages = STAGES,
                            .split_k = SPLIT_K,
                            .element_bytes = kElementBytes,
                            .accumulator_bytes = sizeof(Accumulator),
                            .alignment_a = kAlignA,
                            .alignment_b = kAlignB,
                            .has_block_scales = kHasBlockScales,
                            .products = kEmulates            ? mma::Products::kEmulated
                                        : kConvertsToF16     ? mma::Products::kAsF16
                                        : kElementBytes == 4 ? mma::Products::kTf32
                                                             : mma::Products::kDirect};
constexpr int kGroupM = GROUP_M;
#ifndef THREADS
#define THREADS kShape.threads()
#endif
#ifndef SHARED_BYTES
#define SHARED_BYTES kShape.shared_bytes()
#endif

// ---- 3. What must hold --------------------------------------------------------------------------
static_assert(kShape.warps_divide_block_m(), "block_m must be a multiple of warp_m");
static_assert(kShape.warps_divide_block_n(), "block_n must be a multiple of warp_n");
static_assert(kShape.warp_m >= 16 && mma::is_power_of_two(kShape.warp_m),
              "warp_m must be 16, 32, 64 or 128");
static_assert(kShape.warp_n >= 16 && mma::is_power_of_two(kShape.warp_n),
              "warp_n must be 16, 32, 64 or 128");
static_assert(kShape.warps_fit(),
              "the warps of a CTA, block_m / warp_m * block_n / warp_n, must be 1, 2, 4, 8 or 16");
static_assert(kShape.steps_fit(),
              "block_k must be a multiple of 32 bytes (f64 and emulated f32: 64 bytes)");
static_assert(kShape.block_scales_fit(),
              "block_k must divide the 128 elements along K that a scale of blocks belongs to");
static_assert(!kGroupsDepth || !kHasBlockScales,
              "groups along K may begin inside a block of scales");
static_assert(kShape.stages >= 1 && kShape.stages <= 6, "stages must be 1 to 6");
static_assert(kShape.stages_fit(), "stages must not be 2 if rows are not aligned to 4 bytes");
static_assert(kElementBytes != 4 || kNumerics != Numerics::kIeee,
              "f32 with IEEE products needs the simt family");
static_assert(kGroupM >= 1 && kShape.split_k >= 1, "group_m and split_k must be 1 or more");
static_assert(THREADS == kShape.threads(), "THREADS must be 32 a warp");
static_assert(SHARED_BYTES == kShape.shared_bytes(),
              "SHARED_BYTES must be the larger of stages * block_k * (block_m + block_n) elements "
              "and 16 * (warp_n + 8) accumulators a warp");

// Short names for the knobs and the values that follow from them.
constexpr int kBlockM = kShape.block_m, kBlockN = kShape.block_n, kBlockK = kShape.block_k;
constexpr int kWarpM = kShape.warp_m, kWarpN = kShape.warp_n;
constexpr int kStages = kShape.stages, kSplitK = kShape.split_k;
constexpr int kThreads = kShape.threads();
constexpr int kStepBytes = kShape.step_bytes(), kSteps = kShape.steps();

// ---- 4. Mainloop --------------------------------------------------------------------------------
// A tile of D, and this CTA's slice of K.
struct MmaWorkTile {
  long long batch_index;
  long long tile;  // its index in the whole batch
  int slice;       // of K
  long long m0, n0, k0;
  long long end_m;  // of the batch index's rows
  int k_tiles;      // of the slice
  int last_k;       // the depth of the last k tile: less than block_k at the end of K
};

__device__ __forceinline__ long long end_of_k(const MmaWorkTile& work) {
  return work.k0 + (work.k_tiles - 1LL) * kBlockK + work.last_k;
}

__device__ __forceinline__ MmaWorkTile work_tile_at(const Arguments& arguments, int work_index) {
  const int tiles_m = tile_rows<kBlockM>(arguments), tiles_n = tiles_along(arguments.n, kBlockN);
  const int tiles = tiles_m * tiles_n;
  const int index = work_index % tiles;
  const int slice_of_batch = work_index / tiles, batch_index = slice_of_batch / kSplitK;
  const TileCoordinate coordinate = tile_at(index, tiles_m, tiles_n, kGroupM);
  const TileRow row = tile_row_at<kBlockM>(arguments, batch_index, coordinate.tile_m);
  const GroupRange depth = depth_of(arguments, row.batch_index);
  const int k_tiles = tiles_along(depth.end - depth.begin, kBlockK);
  MmaWorkTile work;
  work.batch_index = row.batch_index;
  work.slice = slice_of_batch % kSplitK;
  work.tile = static_cast<long long>(batch_index) * tiles + index;
  work.m0 = row.m0;
  work.end_m = row.end_m;
  work.n0 = static_cast<long long>(coordinate.tile_n) * kBlockN;
  const int first = static_cast<int>(static_cast<long long>(k_tiles) * work.slice / kSplitK);
  const int end = static_cast<int>(static_cast<long long>(k_tiles) * (work.slice + 1) / kSplitK);
  work.k0 = depth.begin + static_cast<long long>(first) * kBlockK;
  work.k_tiles = end - first;
  work.last_k =
      end == k_tiles ? static_cast<int>(depth.end - depth.begin - (end - 1LL) * kBlockK) : kBlockK;
  return work;
}

// A tile of `extent` rows of A (columns of B).
__host__ __device__ constexpr Tile make_tile(int extent, bool is_k_major, int alignment) {
  // load_block() reads 8-byte elements, and MN-major 4-byte elements, one by one. Lanes then read
  // 32 or more neighbouring bytes of a row.
  const bool reads_elements = kElementBytes == 8 || (kElementBytes == 4 && !is_k_major);
  return {.rows = is_k_major ? extent : kBlockK,
          .row_bytes = (is_k_major ? kBlockK : extent) * kElementBytes,
          .element_bytes = kElementBytes,
          .is_k_major = is_k_major,
          .chunk_bytes = reads_elements ? 32 : 16,
          .permutes_k = kElementBytes == 1 && !is_k_major,
          .copy_bytes = kShape.copy_bytes(alignment),
          .asynchronous = mma::copies_asynchronously(alignment),
          .threads = kThreads};
}
constexpr Tile kTileA = make_tile(kBlockM, kOrderA == Order::kRowMajor, kAlignA);
constexpr Tile kTileB = make_tile(kBlockN, kOrderB == Order::kColumnMajor, kAlignB);
constexpr int kTileBytesA = tile_bytes(kTileA);
constexpr int kStageBytes = kTileBytesA + tile_bytes(kTileB);

__device__ __forceinline__ char* next_stage(char* pipeline, char* stage) {
  return stage == pipeline + (kStages - 1) * kStageBytes ? pipeline : stage + kStageBytes;
}

// -- producer: all threads --

// Copies the k tiles of a work tile to the stages, a part of a k tile in each step.
struct Producer {
  TileCopy<TypeA, kAlignA, kSteps> a;
  TileCopy<TypeB, kAlignB, kSteps> b;
  int k_tiles_left;  // including the current one; 0 or less: copies zeros
  int last_k;        // of the last k tile
  char* stage;
  UnalignedVector vectors_a[vectors_in_flight(kTileA, kSteps)];
  UnalignedVector vectors_b[vectors_in_flight(kTileB, kSteps)];

  __device__ __forceinline__ int k_left() const {
    return k_tiles_left > 1 ? kBlockK : k_tiles_left == 1 ? last_k : 0;
  }
  // Zeros are copied behind the last k tile, but not through registers: nothing reads them.
  __device__ __forceinline__ bool copies_nothing() const {
    return !(kTileA.asynchronous && kTileB.asynchronous) && k_tiles_left <= 0;
  }
  __device__ __forceinline__ void start_copies(int step) {
    if (copies_nothing()) {
      return;
    }
    const int left = k_left();
    a.start(kTileA, stage, step, step + 1, left, vectors_a);
    b.start(kTileB, stage + kTileBytesA, step, step + 1, left, vectors_b);
  }
  __device__ __forceinline__ void finish_copies(int step) {
    if (copies_nothing()) {
      return;
    }
    const int left = k_left();
    a.finish(kTileA, stage, step, step + 1, left, vectors_a);
    b.finish(kTileB, stage + kTileBytesA, step, step + 1, left, vectors_b);
  }
  // Copies a k tile before the first products. If registers have room, all its vectors are in
  // flight together.
  __device__ __forceinline__ void copy_k_tile() {
    if (copies_nothing()) {
      return;
    }
    if constexpr (kShape.loads_k_tile_at_once()) {
      UnalignedVector all_a[vectors_in_flight(kTileA, 1)], all_b[vectors_in_flight(kTileB, 1)];
      a.start(kTileA, stage, 0, kSteps, k_left(), all_a);
      b.start(kTileB, stage + kTileBytesA, 0, kSteps, k_left(), all_b);
      a.finish(kTileA, stage, 0, kSteps, k_left(), all_a);
      b.finish(kTileB, stage + kTileBytesA, 0, kSteps, k_left(), all_b);
      return;
    }
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      start_copies(step);
      finish_copies(step);
    }
  }
  __device__ __forceinline__ void advance(char* pipeline) {
    --k_tiles_left;
    stage = next_stage(pipeline, stage);
  }
};

__device__ __forceinline__ Producer make_producer(const Arguments& arguments,
                                                  const MmaWorkTile& work, char* pipeline) {
  Producer producer;
  producer.a = make_tile_copy<kAlignA, kSteps>(
      kTileA, matrix_a(arguments, work.batch_index) + offset_a(arguments, work.m0, work.k0),
      arguments.lda * kElementBytes, work.end_m - work.m0);
  producer.b = make_tile_copy<kAlignB, kSteps>(
      kTileB, matrix_b(arguments, work.batch_index) + offset_b(arguments, work.k0, work.n0),
      arguments.ldb * kElementBytes, arguments.n - work.n0);
  if constexpr (!kTileA.asynchronous) {
    const TypeA* const a = matrix_a(arguments, work.batch_index);
    producer.a.span = {a, a + offset_a(arguments, work.end_m - 1, end_of_k(work) - 1) + 1};
  }
  if constexpr (!kTileB.asynchronous) {
    const TypeB* const b = matrix_b(arguments, work.batch_index);
    producer.b.span = {b, b + offset_b(arguments, end_of_k(work) - 1, arguments.n - 1) + 1};
  }
  producer.k_tiles_left = work.k_tiles;
  producer.last_k = work.last_k;
  producer.stage = pipeline;
  return producer;
}

// -- consumer: a warp multiplies --

// The origin of the warp tile in the CTA's tile.
struct WarpOrigin {
  int m, n;
};
__device__ __forceinline__ WarpOrigin origin_of_warp() {
  const int warp = threadIdx.x / 32, warps_n = kBlockN / kWarpN;
  return {warp / warps_n * kWarpM, warp % warps_n * kWarpN};
}

// A warp tile has blocks of 16 rows of A and 16 columns of B.
constexpr int kBlocksM = kWarpM / 16, kBlocksN = kWarpN / 16;

// The fragments of one step.
struct Fragments {
  Register a[kBlocksM][kBlocksOfStep][4];
  Register b[kBlocksN][kBlocksOfStep][4];

  __device__ __forceinline__ void load(const char* stage, const WarpOrigin& origin, int step) {
#pragma unroll
    for (int block = 0; block < kBlocksOfStep; ++block) {
      const int first_k = step * kStepBytes / sizeof(Register) + block * 8;
#pragma unroll
      for (int m = 0; m < kBlocksM; ++m) {
        load_block<RegisterOrder::kRowsFirst>(kTileA, stage, origin.m, {m * 16, first_k},
                                              a[m][block]);
      }
#pragma unroll
      for (int n = 0; n < kBlocksN; ++n) {
        load_block<RegisterOrder::kKFirst>(kTileB, stage + kTileBytesA, origin.n, {n * 16, first_k},
                                           b[n][block]);
      }
    }
  }
};

using Accumulators = Accumulator[kBlocksM][2 * kBlocksN][4];

// With enough registers, fragments are double-buffered: the next step's fragments are loaded while
// the current ones are multiplied.
constexpr int kFragmentBuffers = kShape.has_two_buffers() ? 2 : 1;
static_assert(sizeof(Accumulators) / 4 == kShape.accumulator_registers() &&
                  sizeof(Fragments) / 4 == kShape.fragment_registers(),
              "shape.h must count the registers that are declared here");

// The factors of the sums of a k tile, for the rows and columns of a lane's accumulators. Rows and
// columns outside D take those of the last ones.
struct BlockFactors {
  f32 rows[kBlocksM][2], columns[kBlocksN][4];

  __device__ __forceinline__ void load(const Arguments& arguments, const MmaWorkTile& work,
                                       const WarpOrigin& origin, long long k) {
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    asm volatile("" : "+r"(g), "+r"(t));  // otherwise all addresses would be kept in registers
#pragma unroll
    for (int i = 0; i < 2 * kBlocksM; ++i) {
      const int row = rows_alternate(kTileA) ? 2 * g + i % 2 : g + 8 * (i % 2);
      const long long m = work.m0 + origin.m + i / 2 * 16 + row;
      rows[i / 2][i % 2] = scaled_a(arguments, work.batch_index, min(m, arguments.m - 1), k, 1.0f);
    }
#pragma unroll
    for (int i = 0; i < 4 * kBlocksN; ++i) {
      const int half = i / 2 % 2, of_half = 2 * t + i % 2;
      const int column = rows_alternate(kTileB) ? 2 * of_half + half : 8 * half + of_half;
      const long long n = work.n0 + origin.n + i / 4 * 16 + column;
      columns[i / 4][i % 4] =
          scaled_b(arguments, work.batch_index, k, min(n, arguments.n - 1), 1.0f);
    }
  }

  // Of accumulator i in block m of A and half n % 2 of block n / 2 of B.
  __device__ __forceinline__ f32 at(int m, int n, int i) const {
    return rows[m][i / 2] * columns[n / 2][n % 2 * 2 + i % 2];
  }
};

// Consecutive instructions go back and forth along n, and share the four registers of A. This is
// faster than sharing the two registers of B, because fewer registers are read (LABBOOK.md).
__device__ __forceinline__ void multiply_fragments(const Fragments& fragments,
                                                   const BlockFactors& factors,
                                                   Accumulators& accumulators) {
  Operands a, b[kBlocksN];
#pragma unroll
  for (int n = 0; n < kBlocksN; ++n) {
    convert(TypeB(), RegisterOrder::kKFirst, fragments.b[n], b[n]);
  }
#pragma unroll
  for (int m = 0; m < kBlocksM; ++m) {
    convert(TypeA(), RegisterOrder::kRowsFirst, fragments.a[m], a);
#pragma unroll
    for (int index = 0; index < 2 * kBlocksN; ++index) {
      const int n = m % 2 == 0 ? index : 2 * kBlocksN - 1 - index;
      if (!kEmulates && !kHasBlockScales) {
        multiply_operands<TypeA, TypeB>(a, b[n / 2], n % 2, accumulators[m][n]);
        continue;
      }
      Accumulator step_accumulators[4] = {};
      multiply_operands<TypeA, TypeB>(a, b[n / 2], n % 2, step_accumulators);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if constexpr (kHasBlockScales) {
          multiply_add(factors.at(m, n, i), step_accumulators[i], accumulators[m][n][i]);
        } else {
          add(step_accumulators[i], accumulators[m][n][i]);
        }
      }
    }
  }
}

// ---- 5. Epilogue --------------------------------------------------------------------------------
constexpr int kEpiloguePitch = kShape.epilogue_pitch();
constexpr int kEpilogueBytes = kShape.epilogue_bytes_of_warp();

struct CollectiveEpilogue {
  static constexpr int kVectorsOfRow = kWarpN / kVectorElements;
  static constexpr int kThreadAccumulators = sizeof(Accumulators) / sizeof(Accumulator);

  const Arguments& arguments;
  const MmaWorkTile& work;
  WarpOrigin origin;
  char* shared;

  // The rows of the warp tile go through shared memory, 16 at a time.
  __device__ __forceinline__ void store(const Accumulators& accumulators) const {
    constexpr FragmentOrder kOrder{.rows_alternate = rows_alternate(kTileA),
                                   .columns_alternate = rows_alternate(kTileB)};
    const Epilogue epilogue = begin_epilogue(arguments, work.batch_index);
    const OutputMatrix output{arguments, epilogue, work.batch_index, work.end_m};
    auto* const rows = reinterpret_cast<Accumulator*>(shared + threadIdx.x / 32 * kEpilogueBytes);
#pragma unroll
    for (int m = 0; m < kBlocksM; ++m) {
#pragma unroll
      for (int n = 0; n < kBlocksN; ++n) {
        fragments_to_shared<kEpiloguePitch, kOrder>(accumulators[m][2 * n],
                                                    accumulators[m][2 * n + 1], rows + n * 16);
      }
      __syncwarp();
      store_rows(output, rows, work.m0 + origin.m + m * 16, work.n0 + origin.n);
      __syncwarp();
    }
  }

  // Stores 16 rows of the warp tile, starting at D[m, n].
  __device__ __forceinline__ static void store_rows(const OutputMatrix& output,
                                                    const Accumulator* rows, long long m,
                                                    long long n) {
    if constexpr (kStoresVectors) {
#pragma unroll 1
      for (int vector = threadIdx.x % 32; vector < mma::kEpilogueRows * kVectorsOfRow;
           vector += 32) {
        const int row = vector / kVectorsOfRow, column = vector % kVectorsOfRow * kVectorElements;
        output.store_vector(
            *reinterpret_cast<const AccumulatorVector*>(rows + row * kEpiloguePitch + column),
            m + row, n + column);
      }
    } else {
      constexpr int kColumns = mma::least(kWarpN, 32);
#pragma unroll 1
      for (int column = 0; column < kWarpN; column += kColumns) {
        output.store_elements<kColumns, kEpiloguePitch>(rows + column, m, n + column);
      }
    }
  }

  // Called if split_k > 1. Stores this CTA's partial tile, and returns true in the CTA that arrives
  // last. The accumulators of that CTA become the sums over all slices, added in the order of the
  // slices.
  __device__ __forceinline__ bool reduce_slices(Accumulator* accumulators) const {
    const ThreadGroup group{static_cast<int>(threadIdx.x), kThreads, 0};
    // Vectors of neighbouring threads are neighbours in memory.
    const auto partial_vector = [&](int slice, int first) {
      Accumulator* const partial =
          partial_tile(arguments, work.tile, slice, kSplitK, kThreads * kThreadAccumulators);
      return reinterpret_cast<AccumulatorVector*>(partial) + first / kVectorElements * kThreads +
             group.thread;
    };
#pragma unroll
    for (int first = 0; first < kThreadAccumulators; first += kVectorElements) {
      AccumulatorVector vector;
#pragma unroll
      for (int i = 0; i < kVectorElements; ++i) {
        vector.element[i] = accumulators[first + i];
      }
      *partial_vector(work.slice, first) = vector;
    }
    if (!arrives_last(arguments, work.tile, kSplitK, group, reinterpret_cast<int*>(shared))) {
      return false;
    }
#pragma unroll
    for (int i = 0; i < kThreadAccumulators; ++i) {
      accumulators[i] = 0;
    }
#pragma unroll 1
    for (int slice = 0; slice < kSplitK; ++slice) {
#pragma unroll
      for (int first = 0; first < kThreadAccumulators; first += kVectorElements) {
        const AccumulatorVector vector = *partial_vector(slice, first);
#pragma unroll
        for (int i = 0; i < kVectorElements; ++i) {
          add(vector.element[i], accumulators[first + i]);
        }
      }
    }
    sync(group);  // before this shared memory is used again
    return true;
  }
};

// ---- 6. Entry -----------------------------------------------------------------------------------
// Starts the copies of the first stages - 1 k tiles, and waits for the first one.
__device__ __forceinline__ void fill_pipeline(Producer& producer, char* shared) {
  for (int stage = 0; stage < kStages - 1; ++stage) {
    producer.copy_k_tile();
    end_copy_group();
    producer.advance(shared);
  }
  wait_for_copies(kStages - 2);
  __syncthreads();
}

// With one stage, a k tile is copied, then multiplied. That takes the fewest instructions, which
// are most of the time if K is a single k tile.
__device__ __forceinline__ void multiply_in_turn(const Arguments& arguments,
                                                 const MmaWorkTile& work, const WarpOrigin& origin,
                                                 Producer& producer, char* shared,
                                                 Accumulators& accumulators) {
#pragma unroll 1
  for (int k_tile = 0; k_tile < work.k_tiles; ++k_tile) {
    BlockFactors factors;
    if constexpr (kHasBlockScales) {
      factors.load(arguments, work, origin, work.k0 + static_cast<long long>(k_tile) * kBlockK);
    }
    if (k_tile > 0) {
      __syncthreads();  // before the k tile is overwritten
    }
    producer.copy_k_tile();
    end_copy_group();
    wait_for_copies(0);
    __syncthreads();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      Fragments fragments;
      fragments.load(shared, origin, step);
      multiply_fragments(fragments, factors, accumulators);
    }
    producer.advance(shared);
  }
}

__device__ __forceinline__ void compute(const Arguments& arguments, const MmaWorkTile& work,
                                        char* shared) {
  if (work.batch_index < 0) {
    return;  // the groups have fewer rows of tiles
  }
  const WarpOrigin origin = origin_of_warp();
  Producer producer = make_producer(arguments, work, shared);
  if constexpr (kStages > 1) {
    fill_pipeline(producer, shared);
  }
  Accumulators accumulators = {};
  if constexpr (kStages == 1) {
    multiply_in_turn(arguments, work, origin, producer, shared, accumulators);
  } else {  // not a function, for which the compiler would number the registers differently
    Fragments fragments[kFragmentBuffers];
    BlockFactors factors;
    char* stage = shared;
    fragments[0].load(stage, origin, 0);
    for (int k_tile = 0; k_tile < work.k_tiles; ++k_tile) {
      if constexpr (kHasBlockScales) {
        factors.load(arguments, work, origin, work.k0 + static_cast<long long>(k_tile) * kBlockK);
      }
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        producer.start_copies(step);
        if (step == kSteps - 1) {
          end_copy_group();
          wait_for_copies(kStages - 2);
          __syncthreads();
          stage = next_stage(shared, stage);
        }
        if (kFragmentBuffers == 2) {
          fragments[(step + 1) % 2].load(stage, origin, (step + 1) % kSteps);
        }
        multiply_fragments(fragments[step % kFragmentBuffers], factors, accumulators);
        if (kFragmentBuffers == 1) {
          fragments[0].load(stage, origin, (step + 1) % kSteps);
        }
        producer.finish_copies(step);
      }
      if (kFragmentBuffers == 2 && kSteps % 2 == 1) {
        fragments[0] = fragments[kFragmentBuffers - 1];
      }
      producer.advance(shared);
    }
  }
  wait_for_copies(0);
  __syncthreads();  // before the epilogue uses the shared memory of the pipeline

  const CollectiveEpilogue epilogue{arguments, work, origin, shared};
  if (kSplitK == 1 || epilogue.reduce_slices(&accumulators[0][0][0])) {
    epilogue.store(accumulators);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    tunedgemm_mma(const __grid_constant__ Arguments arguments) {
  extern __shared__ __align__(128) char shared[];
  for_each_work_tile<kBlockM, kBlockN, kSplitK>(
      arguments, [&](int index) { compute(arguments, work_tile_at(arguments, index), shared); });
}
