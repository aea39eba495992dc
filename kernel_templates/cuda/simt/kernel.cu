// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        on CUDA cores, in f32, f64 or s32
//
// Read ../naive/tiled_shared.cu first. New here: registers hold one more level of tiles. A CTA
// computes a tile of D, a warp a warp tile of it, and a thread a thread tile: thread_m x thread_n
// accumulators. For thread_m * thread_n multiply-adds, the thread loads only thread_m + thread_n
// elements from shared memory. While a k tile is multiplied, later k tiles are in flight.
//
//        K, in k tiles                    block_n                       a warp: 32 lanes
//       +----------------+        +------+------+------+           +--+--+--+--+--+--+--+--+
//    A  |[]-> shared[k][m]|       | warp | warp |      |           | 4 x 4 (f64: 2 x 2)    |
//       +----------------+        |warp_m x warp_n     | block_m   | patches, 1 per lane,  |
//    B  [ ]-> shared[k][n]        +------+------+------+           | repeated until warp_m |
//                                 |      |      |      |           | x warp_n is covered   |
//                                 +------+------+------+           +--+--+--+--+--+--+--+--+
//
//   for every k tile:  start to copy the k tile that is stages - 1 ahead
//                      for every k of the tile:  fragments of k + 1 <- shared
//                                                accumulators += a[k] * b[k]
//                      end the copy; barrier
//
// Both operands lie in shared memory with k as the row, so fragments are loaded 16 bytes at a time.
// A K-major operand is transposed while it is copied. Tiles that would reach beyond D are moved
// back until they end with D, so that few copies need bounds checks. They stay in place if D
// overwrites C.
//
// With split-K, each CTA computes a slice of K, and the CTAs of a tile share the reduction of their
// partial tiles (common/split_k_reduction.cuh).
//
// Cost: shared memory for stages * block_k * (block_m + block_n) accumulators and 32 bytes of
// padding per k; registers for thread_m * thread_n + 2 * (thread_m + thread_n) accumulators, and
// about 40 more.
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/simt/kernel.cu

// ---- 2. Knobs -----------------------------------------------------------------------------------
#include "../common/epilogue.cuh"
#include "../common/rasterization.cuh"
#include "../common/split_k_reduction.cuh"
#include "../ptx/special_registers.cuh"
#include "operand.cuh"
#include "shape.h"

#ifndef BLOCK_M
#define BLOCK_M 128  // rows of a CTA's tile of D
#endif
#ifndef BLOCK_N
#define BLOCK_N 128  // columns of a CTA's tile of D
#endif
#ifndef BLOCK_K
#define BLOCK_K 8  // depth of a k tile
#endif
#ifndef WARP_M
#define WARP_M 32  // rows of a warp tile
#endif
#ifndef WARP_N
#define WARP_N 64  // columns of a warp tile
#endif
#ifndef THREAD_M
#define THREAD_M 8  // rows of a thread tile
#endif
#ifndef THREAD_N
#define THREAD_N 8  // columns of a thread tile
#endif
#ifndef STAGES
#define STAGES 2  // k tiles in shared memory: one is multiplied, the others are in flight
#endif
#ifndef ASYNC_COPY
#define ASYNC_COPY 0  // 1: by cp.async; 0: through registers, with type conversion
#endif
#ifndef GROUP_M
#define GROUP_M 8  // rows of tiles in a rasterization group
#endif
#ifndef SPLIT_K
#define SPLIT_K 1  // slices of K
#endif
#ifndef BLOCKS_PER_SM
#define BLOCKS_PER_SM 1  // CTAs that must fit on an SM; limits a thread's registers
#endif

constexpr simt::Shape kShape{.block_m = BLOCK_M,
                             .block_n = BLOCK_N,
                             .block_k = BLOCK_K,
                             .warp_m = WARP_M,
                             .warp_n = WARP_N,
                             .thread_m = THREAD_M,
                             .thread_n = THREAD_N,
                             .stages = STAGES,
                             .async_copy = ASYNC_COPY != 0,
                             .split_k = SPLIT_K,
                             .element_bytes_a = sizeof(TypeA),
                             .element_bytes_b = sizeof(TypeB),
                             .accumulator_bytes = sizeof(Accumulator),
                             .alignment_a = kAlignA,
                             .alignment_b = kAlignB,
                             .a_is_k_major = kOrderA == Order::kRowMajor,
                             .b_is_k_major = kOrderB == Order::kColumnMajor,
                             .accumulates_integers = kAccumulatorIsInteger,
                             .transcendental = traits(kActivation).is_transcendental};
#ifndef THREADS
#define THREADS kShape.threads()
#endif
#ifndef SHARED_BYTES
#define SHARED_BYTES kShape.shared_bytes()
#endif
constexpr int kGroupM = GROUP_M, kBlocksPerSm = BLOCKS_PER_SM;

// ---- 3. What must hold --------------------------------------------------------------------------
static_assert(kShape.warps_divide_block_m() && kShape.warps_divide_block_n(),
              "block_m and block_n must be multiples of warp_m and warp_n");
static_assert(kShape.lanes_fit(),
              "warp_m x warp_n must be 32 tiles of thread_m x thread_n, 2 or more each way");
static_assert(kShape.quads_fit(),
              "thread_m and thread_n must be multiples of 16 bytes of accumulators");
static_assert(kShape.block_k % 8 == 0, "block_k must be a multiple of 8");
static_assert(kShape.stages >= 2 && kShape.stages <= simt::kMostStages, "stages must be 2 to 6");
static_assert(kShape.stages_fit(), "stages must be 2 unless async_copy=1");
static_assert(kShape.async_copy_fits(),
              "async_copy=1 cannot convert: A and B must have the accumulator's type");
static_assert(kShape.threads() <= simt::kMostThreads,
              "block_m x block_n must be at most 32 tiles of warp_m x warp_n");
static_assert(THREADS == kShape.threads(), "THREADS must be 32 a warp");
static_assert(
    SHARED_BYTES == kShape.shared_bytes(),
    "SHARED_BYTES must be stages * block_k * (block_m + block_n accumulators + 32 bytes)");
static_assert(kGroupM >= 1 && kShape.split_k >= 1, "group_m and split_k must be 1 or more");

// Short names for the values that follow from the knobs.
constexpr int kBlockM = kShape.block_m, kBlockN = kShape.block_n, kBlockK = kShape.block_k;
constexpr int kWarpM = kShape.warp_m, kWarpN = kShape.warp_n;
constexpr int kThreadM = kShape.thread_m, kThreadN = kShape.thread_n;
constexpr int kLanesM = kShape.lanes_m(), kLanesN = kShape.lanes_n();
constexpr int kStages = kShape.stages, kSplitK = kShape.split_k;
constexpr bool kAsyncCopy = kShape.async_copy;
constexpr int kThreads = kShape.threads();
constexpr int kAccumulatorBytes = kShape.accumulator_bytes;

// ---- 4. Work tile and thread tile ---------------------------------------------------------------
using OperandA = Operand<TypeA, kShape.copy_a()>;
using OperandB = Operand<TypeB, kShape.copy_b()>;

constexpr bool kStoresVectors = kAlignD >= kQuad * static_cast<int>(sizeof(TypeD));
// A tile that is moved back begins at multiples of kUnitM and kUnitN, so that vectors stay aligned.
constexpr int kStoreUnit = kStoresVectors ? kQuad : 1;
constexpr int kUnitM = OperandA::kRowUnit;
constexpr int kUnitN = OperandB::kRowUnit > kStoreUnit ? OperandB::kRowUnit : kStoreUnit;

// The work of a CTA: a slice of K of one tile of D.
struct SimtWorkTile {
  long long batch_index;
  long long tile;  // its index in the whole batch
  int slice;       // of split_k
  long long m0, n0, k0;
  int rows, columns;  // inside D: at most block_m and block_n
  long long depth;    // of the slice
  int k_tiles;        // of the slice
  int full_k_tiles;   // of these, the first ones that are completely inside A and B
};

__device__ __forceinline__ SimtWorkTile work_tile_at(const Arguments& arguments, int index) {
  const int tiles_m = tile_rows<kBlockM>(arguments), tiles_n = tiles_along(arguments.n, kBlockN);
  const int tiles = tiles_m * tiles_n;
  const int slice_of_batch = index / tiles, batch_index = slice_of_batch / kSplitK;
  const TileCoordinate tile = tile_at(index % tiles, tiles_m, tiles_n, kGroupM);
  const TileRow row = tile_row_at<kBlockM>(arguments, batch_index, tile.tile_m);
  const GroupRange depth = depth_of(arguments, row.batch_index);
  SimtWorkTile work;
  work.batch_index = row.batch_index;
  work.slice = slice_of_batch % kSplitK;
  work.tile = static_cast<long long>(batch_index) * tiles + index % tiles;
  work.m0 = row.m0;
  work.n0 = static_cast<long long>(tile.tile_n) * kBlockN;
  if (!kReadC || arguments.c != arguments.d) {
    work.m0 = kGroupsRows ? work.m0 : min(work.m0, last_origin(arguments.m, kBlockM, kUnitM));
    work.n0 = min(work.n0, last_origin(arguments.n, kBlockN, kUnitN));
  }
  work.rows = static_cast<int>(min(row.end_m - work.m0, static_cast<long long>(kBlockM)));
  work.columns = static_cast<int>(min(arguments.n - work.n0, static_cast<long long>(kBlockN)));
  const long long all = depth.end - depth.begin, k_tiles = (all + kBlockK - 1) / kBlockK;
  const long long first = k_tiles * work.slice / kSplitK * kBlockK;
  work.k0 = depth.begin + first;
  work.depth = min(all, k_tiles * (work.slice + 1) / kSplitK * kBlockK) - first;
  work.k_tiles = static_cast<int>((work.depth + kBlockK - 1) / kBlockK);
  const bool is_inside = work.rows == kBlockM && work.columns == kBlockN;
  work.full_k_tiles = is_inside ? static_cast<int>(work.depth / kBlockK) : 0;
  return work;
}

// A thread tile consists of patches of kQuad x kQuad accumulators. Neighbouring patches of a thread
// are kStrideM rows or kStrideN columns apart: patches of other lanes lie between them.
constexpr int kQuadsM = kThreadM / kQuad, kQuadsN = kThreadN / kQuad;
constexpr int kStrideM = kLanesM * kQuad, kStrideN = kLanesN * kQuad;
using Accumulators = Accumulator[kThreadM][kThreadN];

// The first row and column of a thread tile, relative to the CTA's tile.
struct ThreadTile {
  int m0, n0;

  __device__ __forceinline__ int row(int accumulator_row) const {
    return m0 + accumulator_row / kQuad * kStrideM + accumulator_row % kQuad;
  }
};

// Four consecutive lanes form a square of 2 x 2. Lanes in one row of the square load the same 16
// bytes of A. Lanes in one column load the same 16 bytes of B. Shared memory reads these bytes only
// once.
__device__ __forceinline__ ThreadTile thread_tile_of_thread() {
  constexpr int warps_n = kBlockN / kWarpN;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int lane_m = lane / 2 % 2 + lane / 4 / (kLanesN / 2) * 2;
  const int lane_n = lane % 2 + lane / 4 % (kLanesN / 2) * 2;
  return {warp / warps_n * kWarpM + lane_m * kQuad, warp % warps_n * kWarpN + lane_n * kQuad};
}

// ---- 5. Mainloop --------------------------------------------------------------------------------
constexpr int kStageA = kShape.copy_a().stage_elements();
constexpr int kStageB = kShape.copy_b().stage_elements();
constexpr int kStageElements = kStageA + kStageB;
struct Stage {
  Accumulator a[kStageA], b[kStageB];
};
union SharedStorage {
  Accumulator elements[kStages * kStageElements];
  int reduction;  // for split_k_reduction.cuh, after the mainloop

  __device__ __forceinline__ Stage& stage(int index) {
    return *reinterpret_cast<Stage*>(elements + index * kStageElements);  // the index is 32-bit
  }
};
static_assert(sizeof(SharedStorage) == kShape.shared_bytes(), "SharedStorage must have no padding");

// The elements of A and B at one k.
struct Fragments {
  Quad a[kQuadsM], b[kQuadsN];

  // Rows are multiplied in alternating directions, so that the first multiply-add of a row uses the
  // same element of B as the last one of the previous row. A multiply-add then reads fewer new
  // registers.
  __device__ __forceinline__ void multiply(Accumulators& accumulators) const {
#pragma unroll
    for (int m = 0; m < kThreadM; ++m) {
#pragma unroll
      for (int column = 0; column < kThreadN; ++column) {
        const int n = m % 2 == 0 ? column : kThreadN - 1 - column;
        multiply_add(a[m / kQuad].element[m % kQuad], b[n / kQuad].element[n % kQuad],
                     accumulators[m][n]);
      }
    }
  }
};

// Loads double-buffered fragments from one stage after another.
struct FragmentReader {
  int stage;
  int offset_a, offset_b;  // in bytes: the thread's first elements of the stage at k = 0
  Fragments fragments[2];

  __device__ __forceinline__ void load(const SharedStorage& shared, int k) {
    Fragments& loaded = fragments[k % 2];
#pragma unroll
    for (int quad = 0; quad < kQuadsM; ++quad) {
      loaded.a[quad] = load_quad(shared, offset_a, k * OperandA::kPitch + quad * kStrideM);
    }
#pragma unroll
    for (int quad = 0; quad < kQuadsN; ++quad) {
      loaded.b[quad] = load_quad(shared, offset_b, k * OperandB::kPitch + quad * kStrideN);
    }
  }
  __device__ __forceinline__ static Quad load_quad(const SharedStorage& shared, int offset,
                                                   int elements) {
    const int byte = offset + elements * kAccumulatorBytes;
    return *reinterpret_cast<const Quad*>(reinterpret_cast<const char*>(&shared) + byte);
  }
  // The asm statement hides from the compiler how the offsets were computed. Otherwise the compiler
  // computes them again for every k.
  __device__ __forceinline__ void advance() {
    const bool is_last = stage == kStages - 1;
    const int bytes = (is_last ? 1 - kStages : 1) * kStageElements * kAccumulatorBytes;
    stage = is_last ? 0 : stage + 1;
    offset_a += bytes;
    offset_b += bytes;
    asm volatile("" : "+r"(offset_a), "+r"(offset_b));
  }
  __device__ __forceinline__ int previous_stage() const {
    return stage == 0 ? kStages - 1 : stage - 1;
  }
};
__device__ __forceinline__ FragmentReader fragment_reader(const ThreadTile& tile) {
  return {0, tile.m0 * kAccumulatorBytes, (kStageA + tile.n0) * kAccumulatorBytes, {}};
}

// Full k tiles are copied without bounds checks.
enum class KTiles { kFull, kAny };

struct CollectiveMainloop {
  SharedStorage& shared;
  const SimtWorkTile& work;
  OperandA& a;  // references, since copies as members make the compiled code longer
  OperandB& b;

  __device__ __forceinline__ void multiply(FragmentReader& reader, Accumulators& accumulators) {
    reader.load(shared, 0);
    const bool all_are_full = work.full_k_tiles == work.k_tiles;
    const int end = all_are_full ? work.k_tiles : work.full_k_tiles - (kStages - 1);
    int k_tile = 0;
#pragma unroll 1
    for (; k_tile < end; ++k_tile) {
      multiply_k_tile(k_tile, KTiles::kFull, reader, accumulators);
    }
#pragma unroll 1
    for (; k_tile < work.k_tiles; ++k_tile) {
      multiply_k_tile(k_tile, KTiles::kAny, reader, accumulators);
    }
  }

  __device__ __forceinline__ void copy_first_k_tiles() {
#pragma unroll 1
    for (int k_tile = 0; k_tile < kStages - 1; ++k_tile) {
      if (k_tile < work.k_tiles) {
        begin_copy(shared.stage(k_tile), k_tile, KTiles::kAny);
        end_copy(shared.stage(k_tile));
      } else if (kAsyncCopy) {
        end_copy_group();
      }
    }
    wait_for_stage();
  }

  // Multiplies a k tile while the k tile that is stages - 1 ahead is copied. Full k tiles have
  // their own loop, because in a common loop they would jump over code for partial k tiles, and
  // then wait for instructions.
  __device__ __forceinline__ void multiply_k_tile(int k_tile, KTiles k_tiles,
                                                  FragmentReader& reader,
                                                  Accumulators& accumulators) {
    Stage& copied = shared.stage(reader.previous_stage());
    begin_copy(copied, k_tile + kStages - 1, k_tiles);
    __syncwarp();  // keeps the compiler from moving the loads down to where their values are used
#pragma unroll
    for (int k = 0; k < kBlockK; ++k) {
      if (k == kBlockK - 1) {
        end_copy(copied);
        wait_for_stage();
        reader.advance();
      }
      reader.load(shared, (k + 1) % kBlockK);
      reader.fragments[k % 2].multiply(accumulators);
    }
  }

  // Starts to copy a k tile of both operands, if it exists. Asynchronous copies always end with a
  // group, which may be empty, since wait_for_stage() counts groups.
  __device__ __forceinline__ void begin_copy(Stage& stage, int k_tile, KTiles k_tiles) {
    if (k_tiles == KTiles::kFull) {
      if (k_tile < work.full_k_tiles) {
        a.begin_full_copy(stage.a);
        b.begin_full_copy(stage.b);
      }
    } else if (k_tile < work.k_tiles) {
      const long long left = work.depth - static_cast<long long>(k_tile) * kBlockK;
      const int depth = static_cast<int>(min(left, static_cast<long long>(kBlockK)));
      a.begin_copy(stage.a, depth);
      b.begin_copy(stage.b, depth);
    }
    if constexpr (kAsyncCopy) {
      end_copy_group();
    }
  }

  // This is called even if no k tile was left to copy. The values that are then stored are never
  // read.
  __device__ __forceinline__ void end_copy(Stage& stage) const {
    if constexpr (!kAsyncCopy) {
      a.end_copy(stage.a);
      b.end_copy(stage.b);
    }
  }

  // Returns when the next stage can be read. All threads have then read the previous stage, so it
  // can be overwritten.
  __device__ __forceinline__ void wait_for_stage() const {
    if constexpr (kAsyncCopy) {
      wait_for_copies(kStages - 2);
    }
    __syncthreads();
  }
};

// ---- 6. Epilogue --------------------------------------------------------------------------------
struct alignas(kStoresVectors ? kQuad * sizeof(TypeD) : sizeof(TypeD)) VectorD {
  TypeD element[kQuad];
};

// With split_k > 1, each CTA holds a partial tile of D. The CTAs of a tile reduce their partial
// tiles (split_k_reduction.cuh) in chunks. A chunk has a few rows of every thread tile.
constexpr int kRowsOfChunk = kShape.rows_of_chunk(), kChunks = kShape.chunks();
using Reduction = SplitKReduction<kSplitK, kChunks>;

// Partial tiles are stored to the L2 cache and loaded from it, since all SMs share it.
__device__ __forceinline__ void store_cached(Quad* quad, const float (&x)[4]) {
  __stcg(reinterpret_cast<float4*>(quad), make_float4(x[0], x[1], x[2], x[3]));
}
__device__ __forceinline__ void store_cached(Quad* quad, const int (&x)[4]) {
  __stcg(reinterpret_cast<int4*>(quad), make_int4(x[0], x[1], x[2], x[3]));
}
__device__ __forceinline__ void store_cached(Quad* quad, const double (&x)[2]) {
  __stcg(reinterpret_cast<double2*>(quad), make_double2(x[0], x[1]));
}
__device__ __forceinline__ void load_cached(const Quad* quad, float (&x)[4]) {
  const float4 loaded = __ldcg(reinterpret_cast<const float4*>(quad));
  x[0] = loaded.x, x[1] = loaded.y, x[2] = loaded.z, x[3] = loaded.w;
}
__device__ __forceinline__ void load_cached(const Quad* quad, int (&x)[4]) {
  const int4 loaded = __ldcg(reinterpret_cast<const int4*>(quad));
  x[0] = loaded.x, x[1] = loaded.y, x[2] = loaded.z, x[3] = loaded.w;
}
__device__ __forceinline__ void load_cached(const Quad* quad, double (&x)[2]) {
  const double2 loaded = __ldcg(reinterpret_cast<const double2*>(quad));
  x[0] = loaded.x, x[1] = loaded.y;
}

struct CollectiveEpilogue {
  const Arguments& arguments;
  const SimtWorkTile& work;
  const ThreadTile& tile;
  Epilogue epilogue;
  TypeD* d;  // the first element of the CTA's tile

  __device__ __forceinline__ CollectiveEpilogue(const Arguments& launch_arguments,
                                                const SimtWorkTile& work_tile,
                                                const ThreadTile& thread_tile)
      : arguments(launch_arguments),
        work(work_tile),
        tile(thread_tile),
        epilogue(begin_epilogue(arguments, work.batch_index)),
        d(matrix_d(arguments, work.batch_index) + offset_d(arguments, work.m0, work.n0)) {}

  // ---- Without split-K --------------------------------------------------------------------------
  // Each row is stored from the registers of the first row, and then the other rows move up. Moving
  // is free if the loop is unrolled. With a transcendental activation in f64 the loop stays rolled,
  // so that the code contains the activation for only one row.
  static constexpr int kRowsUnrolled = kLongActivation ? 1 : kThreadM;

  __device__ __forceinline__ void store(Accumulators& accumulators) const {
#pragma unroll kRowsUnrolled
    for (int row = 0; row < kThreadM; ++row) {
      if (const int m = tile.row(row); m < work.rows) {
        store_row(m, accumulators[0], d + offset_d(arguments, m, 0));
      }
#pragma unroll
      for (int above = 0; above + 1 < kThreadM; ++above) {
#pragma unroll
        for (int n = 0; n < kThreadN; ++n) {
          accumulators[above][n] = accumulators[above + 1][n];
        }
      }
    }
  }

  // Stores the thread's part of row m of the CTA's tile.
  __device__ __forceinline__ void store_row(int m, const Accumulator (&accumulators)[kThreadN],
                                            TypeD* row_of_d) const {
#pragma unroll
    for (int first = 0; first < kThreadN; first += kQuad) {
      const int n = tile.n0 + first / kQuad * kStrideN, inside = min(work.columns - n, kQuad);
      VectorD vector;
#pragma unroll
      for (int element = 0; element < kQuad; ++element) {
        if (element < inside) {
          vector.element[element] = apply_epilogue(epilogue, accumulators[first + element],
                                                   work.m0 + m, work.n0 + n + element);
        }
      }
      if (kStoresVectors && inside == kQuad) {
        *reinterpret_cast<VectorD*>(row_of_d + n) = vector;
        continue;
      }
#pragma unroll
      for (int element = 0; element < kQuad; ++element) {
        if (element < inside) {
          row_of_d[n + element] = vector.element[element];
        }
      }
    }
  }

  // ---- Split-K ----------------------------------------------------------------------------------
  // The CTAs of a tile reduce different chunks. A CTA that leaves before the last one arrives
  // reduces none.
  __device__ __forceinline__ void reduce_and_store(int& reduction_int,
                                                   const Accumulators& accumulators) const {
    const ThreadGroup cta{static_cast<int>(threadIdx.x), kThreads, 0};
    const Reduction reduction = split_k_reduction<kSplitK, kChunks>(
        arguments, work.tile, kShape.partial_tile_elements(), cta, &reduction_int);
    const bool waits = runs_in_one_wave();
    store_partial_tile(reduction, accumulators);
    int chunk = reduction.begin(waits);
    for (; chunk < kChunks; chunk = reduction.next_chunk()) {
#pragma unroll 1
      for (int row = chunk * kRowsOfChunk; row < (chunk + 1) * kRowsOfChunk; ++row) {
        Accumulator row_accumulators[kThreadN];
        add_slices(reduction, row, row_accumulators);
        if (const int m = tile.row(row); m < work.rows) {
          store_row(m, row_accumulators, d + offset_d(arguments, m, 0));
        }
      }
    }
  }

  // The CTAs of a tile may wait for each other only if all work tiles of the launch are computed at
  // once.
  __device__ __forceinline__ static bool runs_in_one_wave() {
    return PERSISTENT == 0 && gridDim.x <= sm_id_count() * kBlocksPerSm;
  }

  // A thread's first quad of a row, in the partial tile of a slice. Neighbouring threads have
  // neighbouring quads.
  __device__ __forceinline__ static Quad* quads_of_row(const Reduction& reduction, int slice,
                                                       int row) {
    const int quad = (slice * kThreadM + row) * kQuadsN;
    return reinterpret_cast<Quad*>(reduction.partial_tiles) + quad * kThreads + threadIdx.x;
  }
  // The index, in its row, of the accumulator that is stored as this element of a quad. Neighbours
  // are swapped to avoid register bank conflicts. Elements that are stored together lie in adjacent
  // registers, as do elements of B that are loaded together. Without the swap, an accumulator and
  // its element of B would share a register bank.
  __device__ __forceinline__ static int accumulator_of_quad(int quad, int element) {
    return quad * kQuad + (element ^ 1);
  }

  __device__ __forceinline__ void store_partial_tile(const Reduction& reduction,
                                                     const Accumulators& accumulators) const {
#pragma unroll
    for (int row = 0; row < kThreadM; ++row) {
      Quad* const quads = quads_of_row(reduction, work.slice, row);
#pragma unroll
      for (int quad = 0; quad < kQuadsN; ++quad) {
        Quad stored;
#pragma unroll
        for (int element = 0; element < kQuad; ++element) {
          stored.element[element] = accumulators[row][accumulator_of_quad(quad, element)];
        }
        store_cached(quads + quad * kThreads, stored.element);
      }
    }
  }

  // Computes the sum of a row over all slices. The quads of several slices are in flight at a time.
  static constexpr int kSlicesInFlight = 16 / kQuadsN < kSplitK ? 16 / kQuadsN : kSplitK;
  __device__ __forceinline__ static void add_slices(const Reduction& reduction, int row,
                                                    Accumulator (&accumulators)[kThreadN]) {
#pragma unroll
    for (int n = 0; n < kThreadN; ++n) {
      accumulators[n] = 0;
    }
#pragma unroll 1
    for (int first = 0; first < kSplitK; first += kSlicesInFlight) {
      Quad quads[kSlicesInFlight][kQuadsN];
#pragma unroll
      for (int slice = 0; slice < kSlicesInFlight; ++slice) {
#pragma unroll
        for (int quad = 0; quad < kQuadsN; ++quad) {
          if (first + slice < kSplitK) {
            load_cached(quads_of_row(reduction, first + slice, row) + quad * kThreads,
                        quads[slice][quad].element);
          }
        }
      }
#pragma unroll
      for (int slice = 0; slice < kSlicesInFlight; ++slice) {
#pragma unroll
        for (int quad = 0; quad < kQuadsN; ++quad) {
          if (first + slice < kSplitK) {
            const Quad& loaded = quads[slice][quad];
#pragma unroll
            for (int element = 0; element < kQuad; ++element) {
              add(loaded.element[element], accumulators[accumulator_of_quad(quad, element)]);
            }
          }
        }
      }
    }
  }
};

// ---- 7. Entry -----------------------------------------------------------------------------------
__device__ __forceinline__ void compute(const Arguments& arguments, const SimtWorkTile& work,
                                        SharedStorage& shared) {
  if (work.batch_index < 0) {
    return;  // the groups have fewer rows of tiles
  }
  const ThreadTile tile = thread_tile_of_thread();
  OperandA a;
  OperandB b;
  a.begin(matrix_a(arguments, work.batch_index) + offset_a(arguments, work.m0, work.k0),
          arguments.lda, work.rows);
  b.begin(matrix_b(arguments, work.batch_index) + offset_b(arguments, work.k0, work.n0),
          arguments.ldb, work.columns);

  CollectiveMainloop mainloop{.shared = shared, .work = work, .a = a, .b = b};
  mainloop.copy_first_k_tiles();
  Accumulators accumulators = {};
  FragmentReader reader = fragment_reader(tile);
  mainloop.multiply(reader, accumulators);

  const CollectiveEpilogue epilogue(arguments, work, tile);
  if (kSplitK == 1) {
    epilogue.store(accumulators);
  } else {
    epilogue.reduce_and_store(shared.reduction, accumulators);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    tunedgemm_simt(const __grid_constant__ Arguments arguments) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  SharedStorage& shared = *reinterpret_cast<SharedStorage*>(shared_bytes);
  for_each_work_tile<kBlockM, kBlockN, kSplitK>(
      arguments, [&](int index) { compute(arguments, work_tile_at(arguments, index), shared); });
}
