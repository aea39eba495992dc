// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        on CUDA cores, in f32, f64 or s32
//
// Read ../naive/tiled_shared.cu first. New here: registers are one more level of tiles. A block
// owns a tile of D, a warp a warp tile of it, and a thread thread_m x thread_n accumulators in
// registers, so that what it reads from shared memory, thread_m + thread_n numbers, serves
// thread_m * thread_n multiply-adds. While it multiplies, the next tiles of A and B are on their
// way.
//
//        K, block_k a step                block_n                       a warp: 32 lanes
//       +----------------+        +------+------+------+           +--+--+--+--+--+--+--+--+
//    A  |[]-> shared[k][m]|       | warp | warp |      |           | 4 x 4 (f64: 2 x 2)    |
//       +----------------+        |warp_m x warp_n     | block_m   | patches, one a lane,  |
//    B  [ ]-> shared[k][n]        +------+------+------+           | repeated until warp_m |
//                                 |      |      |      |           | x warp_n is covered   |
//                                 +------+------+------+           +--+--+--+--+--+--+--+--+
//
//   for every step:  begin to copy the step that is stages - 1 ahead
//                    for every k of the step:  fragments of k + 1 <- shared
//                                              accumulators += a[k] * b[k]
//                    end the copy; barrier
//
// Both operands lie in shared memory with k as the row, so that a fragment is read 16 bytes at a
// time. A K-major operand is transposed on its way in. Tiles at the end of D are moved back until
// they end with it, so that copies need not count what exists.
//
// Where K is split (split-K), a block has a slice of it, and all blocks of a tile add their partial
// tiles (common/split_k_reduction.cuh).
//
// Cost: stages * block_k * (block_m + block_n + 32 bytes' worth) accumulators of shared memory;
// thread_m * thread_n + 2 * (thread_m + thread_n) accumulators, and about 40 more, in registers.
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
#define BLOCK_M 128  // rows of a block's tile of D
#endif
#ifndef BLOCK_N
#define BLOCK_N 128  // columns of it
#endif
#ifndef BLOCK_K
#define BLOCK_K 8  // a step along K
#endif
#ifndef WARP_M
#define WARP_M 32  // rows of a warp's tile
#endif
#ifndef WARP_N
#define WARP_N 64
#endif
#ifndef THREAD_M
#define THREAD_M 8  // rows of a thread's accumulators
#endif
#ifndef THREAD_N
#define THREAD_N 8
#endif
#ifndef STAGES
#define STAGES 2  // steps in shared memory: one is multiplied, the others are being copied
#endif
#ifndef ASYNC_COPY
#define ASYNC_COPY 0  // 1: copied by cp.async; 0: through registers, where types are converted
#endif
#ifndef GROUP_M
#define GROUP_M 8  // rows of tiles in a rasterization group
#endif
#ifndef SPLIT_K
#define SPLIT_K 1  // blocks that share the K of a tile
#endif
#ifndef BLOCKS_PER_SM
#define BLOCKS_PER_SM 1  // bounds the registers so that so many blocks fit on an SM
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
                             .accumulates_integers = kAccumulatorIsInteger,
                             .long_activation = kLongActivation};
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
              "a block has a warp for every warp_m x warp_n of its tile, 32 at most");
static_assert(THREADS == kShape.threads(), "THREADS must be 32 a warp");
static_assert(SHARED_BYTES == kShape.shared_bytes(),
              "SHARED_BYTES must be stages * block_k * ((block_m + block_n) accumulators + 32)");
static_assert(kGroupM >= 1 && kShape.split_k >= 1, "group_m and split_k must be 1 or more");

// What follows from the knobs, by the names that are used below.
constexpr int kBlockM = kShape.block_m, kBlockN = kShape.block_n, kBlockK = kShape.block_k;
constexpr int kWarpM = kShape.warp_m, kWarpN = kShape.warp_n;
constexpr int kThreadM = kShape.thread_m, kThreadN = kShape.thread_n;
constexpr int kLanesM = kShape.lanes_m(), kLanesN = kShape.lanes_n();
constexpr int kStages = kShape.stages, kSplitK = kShape.split_k;
constexpr bool kAsyncCopy = kShape.async_copy;
constexpr int kThreads = kShape.threads();
constexpr int kAccumulatorBytes = kShape.accumulator_bytes;
// In accumulators: a stage in shared memory is the tile of A, then that of B.
constexpr int kStageA = kShape.stage_elements_a(), kStage = kShape.stage_elements();

// ---- 4. Mainloop --------------------------------------------------------------------------------
using OperandA =
    Operand<TypeA, kOrderA == Order::kRowMajor, kAlignA, kBlockM, kBlockK, kThreads, kAsyncCopy>;
using OperandB =
    Operand<TypeB, kOrderB == Order::kColumnMajor, kAlignB, kBlockN, kBlockK, kThreads, kAsyncCopy>;

// A thread's tile of D: thread_m x thread_n accumulators in registers, and what it reads for them
// from shared memory (operand.cuh).

// The first row and column of a thread's accumulators inside the tile. Two by two lanes are
// neighbours: pairs of lanes then ask shared memory for the same 16 bytes both of A and of B, and
// each is read once.
struct ThreadOrigin {
  int m, n;
};
__device__ __forceinline__ ThreadOrigin origin_of_thread() {
  constexpr int warps_n = kBlockN / kWarpN;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int lane_m = lane / 2 % 2 + lane / 4 / (kLanesN / 2) * 2;
  const int lane_n = lane % 2 + lane / 4 % (kLanesN / 2) * 2;
  return {warp / warps_n * kWarpM + lane_m * kQuad, warp % warps_n * kWarpN + lane_n * kQuad};
}

// A thread's accumulators are patches of quads: from one to the next it is a row (column) of lanes
// further.
constexpr int kQuadsM = kThreadM / kQuad, kQuadsN = kThreadN / kQuad;
constexpr int kStrideM = kLanesM * kQuad, kStrideN = kLanesN * kQuad;
using Accumulators = Accumulator[kThreadM][kThreadN];
__device__ __forceinline__ int row_of_accumulators(const ThreadOrigin& origin, int row) {
  return origin.m + row / kQuad * kStrideM + row % kQuad;
}

// The numbers of A and B at one k.
struct Fragments {
  Quad a[kQuadsM], b[kQuadsN];
};
__device__ __forceinline__ Quad load_quad(const Accumulator* shared, int byte) {
  return *reinterpret_cast<const Quad*>(reinterpret_cast<const char*>(shared) + byte);
}

// Row after row, there and back: where a row ends the next one begins, so that the number of B that
// was read last is at hand, and fewer registers have to be read at a time.
__device__ __forceinline__ void multiply(const Fragments& fragments, Accumulators& accumulators) {
#pragma unroll
  for (int m = 0; m < kThreadM; ++m) {
#pragma unroll
    for (int column = 0; column < kThreadN; ++column) {
      const int n = m % 2 == 0 ? column : kThreadN - 1 - column;
      multiply_add(fragments.a[m / kQuad].element[m % kQuad],
                   fragments.b[n / kQuad].element[n % kQuad], accumulators[m][n]);
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
__device__ __forceinline__ Reader begin_reading(const ThreadOrigin& origin) {
  return {0, origin.m * kAccumulatorBytes, (kStageA + origin.n) * kAccumulatorBytes, {}};
}
__device__ __forceinline__ void read(Reader& reader, const Accumulator* shared, int k) {
  Fragments& to = reader.fragments[k % 2];
#pragma unroll
  for (int quad = 0; quad < kQuadsM; ++quad) {
    const int further = k * OperandA::kPitch + quad * kStrideM;
    to.a[quad] = load_quad(shared, reader.a + further * kAccumulatorBytes);
  }
#pragma unroll
  for (int quad = 0; quad < kQuadsN; ++quad) {
    const int further = k * OperandB::kPitch + quad * kStrideN;
    to.b[quad] = load_quad(shared, reader.b + further * kAccumulatorBytes);
  }
}
// The compiler no longer knows how the addresses were computed. Otherwise it does so for every k.
__device__ __forceinline__ void next_stage(Reader& reader) {
  const bool is_last = reader.stage == kStages - 1;
  const int bytes = (is_last ? 1 - kStages : 1) * kStage * kAccumulatorBytes;
  reader.stage = is_last ? 0 : reader.stage + 1;
  reader.a += bytes;
  reader.b += bytes;
  asm volatile("" : "+r"(reader.a), "+r"(reader.b));
}
// The one that is written to meanwhile.
__device__ __forceinline__ int stage_before(const Reader& reader) {
  return reader.stage == 0 ? kStages - 1 : reader.stage - 1;
}

constexpr bool kStoresVectors = kAlignD >= kQuad * static_cast<int>(sizeof(TypeD));
// Tiles that are moved back stay where what is copied or stored together begins.
constexpr int kUnitOfStore = kStoresVectors ? kQuad : 1;
constexpr int kUnitM = OperandA::kRowUnit;
constexpr int kUnitN = OperandB::kRowUnit > kUnitOfStore ? OperandB::kRowUnit : kUnitOfStore;

// The work of a CTA: a slice of K of one tile of D.
struct WorkTile {
  long long batch_index;
  long long tile;  // counted over the whole batch
  int slice;       // of K, of split_k
  long long m0, n0, k0;
  int rows, columns;  // inside D: at most block_m and block_n
  long long depth;    // of this slice of K
  int steps;          // along it
  int whole_steps;    // the first of them, whose tiles of A and B are inside the matrices
};

__device__ __forceinline__ WorkTile work_tile_of_cta(const Arguments& arguments) {
  const int tiles_m = static_cast<int>((arguments.m + kBlockM - 1) / kBlockM);
  const int tiles_n = static_cast<int>((arguments.n + kBlockN - 1) / kBlockN);
  const int tiles = tiles_m * tiles_n;
  const int slice_of_batch = static_cast<int>(blockIdx.x) / tiles;
  const TileCoordinate at =
      tile_at(static_cast<int>(blockIdx.x) % tiles, tiles_m, tiles_n, kGroupM);
  WorkTile work;
  work.batch_index = slice_of_batch / kSplitK;
  work.slice = slice_of_batch % kSplitK;
  work.tile = work.batch_index * tiles + static_cast<int>(blockIdx.x) % tiles;
  work.m0 = static_cast<long long>(at.tile_m) * kBlockM;
  work.n0 = static_cast<long long>(at.tile_n) * kBlockN;
  if (!kReadC || arguments.c != arguments.d) {
    work.m0 = min(work.m0, last_origin(arguments.m, kBlockM, kUnitM));
    work.n0 = min(work.n0, last_origin(arguments.n, kBlockN, kUnitN));
  }
  work.rows = static_cast<int>(min(arguments.m - work.m0, static_cast<long long>(kBlockM)));
  work.columns = static_cast<int>(min(arguments.n - work.n0, static_cast<long long>(kBlockN)));
  const long long steps = (arguments.k + kBlockK - 1) / kBlockK;
  work.k0 = steps * work.slice / kSplitK * kBlockK;
  work.depth = min(arguments.k, steps * (work.slice + 1) / kSplitK * kBlockK) - work.k0;
  work.steps = static_cast<int>((work.depth + kBlockK - 1) / kBlockK);
  const bool is_inside = work.rows == kBlockM && work.columns == kBlockN;
  work.whole_steps = is_inside ? static_cast<int>(work.depth / kBlockK) : 0;
  return work;
}

// Begins to copy a step of both operands, if there is one. Even an empty group of copies is ended,
// so that waiting can count groups.
enum class Steps { kWhole, kAny };
__device__ __forceinline__ void begin_copy(OperandA& a, OperandB& b, Accumulator* stage,
                                           const WorkTile& work, int step, Steps steps) {
  if (steps == Steps::kWhole) {
    if (step < work.whole_steps) {
      a.begin_whole_copy(stage);
      b.begin_whole_copy(stage + kStageA);
    }
  } else if (step < work.steps) {
    const long long left = work.depth - static_cast<long long>(step) * kBlockK;
    const int depth = static_cast<int>(min(left, static_cast<long long>(kBlockK)));
    a.begin_copy(stage, depth);
    b.begin_copy(stage + kStageA, depth);
  }
  if constexpr (kAsyncCopy) {
    end_copy_group();
  }
}

// After the last step, what is written down is never read.
__device__ __forceinline__ void end_copy(const OperandA& a, const OperandB& b, Accumulator* stage) {
  if constexpr (!kAsyncCopy) {
    a.end_copy(stage);
    b.end_copy(stage + kStageA);
  }
}

// The oldest stage is there, and nobody reads the one before it any more.
__device__ __forceinline__ void wait_for_stage() {
  if constexpr (kAsyncCopy) {
    wait_for_copies(kStages - 2);
  }
  __syncthreads();
}

// Multiplies step `step`; meanwhile the one that is stages - 1 ahead is copied. Steps that are
// whole have a loop of their own: where one loop does both, every step jumps over what it does not
// need, and waits for instructions.
__device__ __forceinline__ void multiply_step(OperandA& a, OperandB& b, Accumulator* shared,
                                              const WorkTile& work, int step, Steps steps,
                                              Reader& reader, Accumulators& accumulators) {
  Accumulator* const to = shared + stage_before(reader) * kStage;
  begin_copy(a, b, to, work, step + kStages - 1, steps);
  __syncwarp();  // otherwise the compiler lets the loads sink to where their values are needed
#pragma unroll
  for (int k = 0; k < kBlockK; ++k) {
    if (k == kBlockK - 1) {
      end_copy(a, b, to);
      wait_for_stage();
      next_stage(reader);
    }
    read(reader, shared, (k + 1) % kBlockK);
    multiply(reader.fragments[k % 2], accumulators);
  }
}

// ---- 5. Epilogue --------------------------------------------------------------------------------
struct alignas(kStoresVectors ? kQuad * sizeof(TypeD) : sizeof(TypeD)) VectorD {
  TypeD element[kQuad];
};

// The accumulators of one row of this thread, from column origin.n on.
__device__ __forceinline__ void store_row(const Epilogue& epilogue, const WorkTile& work, int m,
                                          int n0, const Accumulator (&accumulators)[kThreadN],
                                          TypeD* d) {
#pragma unroll
  for (int first = 0; first < kThreadN; first += kQuad) {
    const int n = n0 + first / kQuad * kStrideN, present = min(work.columns - n, kQuad);
    VectorD vector;
#pragma unroll
    for (int element = 0; element < kQuad; ++element) {
      if (element < present) {
        vector.element[element] = apply_epilogue(epilogue, accumulators[first + element],
                                                 work.m0 + m, work.n0 + n + element);
      }
    }
    if (kStoresVectors && present == kQuad) {
      *reinterpret_cast<VectorD*>(d + n) = vector;
      continue;
    }
#pragma unroll
    for (int element = 0; element < kQuad; ++element) {
      if (element < present) {
        d[n + element] = vector.element[element];
      }
    }
  }
}

// Row after row is stored from the registers of the first one, and the others move up: unrolled,
// that costs nothing; and the code of a long activation is there for one row only.
constexpr int kRowsUnrolled = kLongActivation ? 1 : kThreadM;

__device__ __forceinline__ void store(const Arguments& arguments, const WorkTile& work,
                                      const ThreadOrigin& origin, Accumulators& accumulators) {
  const Epilogue epilogue = begin_epilogue(arguments, work.batch_index);
  TypeD* const d = matrix_d(arguments, work.batch_index) + offset_d(arguments, work.m0, work.n0);
#pragma unroll kRowsUnrolled
  for (int row = 0; row < kThreadM; ++row) {
    const int m = row_of_accumulators(origin, row);
    if (m < work.rows) {
      store_row(epilogue, work, m, origin.n, accumulators[0], d + offset_d(arguments, m, 0));
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

// With split_k > 1, each CTA holds a partial tile of D. The CTAs of a tile reduce their partial
// tiles (split_k_reduction.cuh) in chunks: a few rows of every thread's accumulators.
//
//   int chunk = hand_in(reduction, slice, waits, accumulators);
//   for (; chunk < kChunks; chunk = reduction.next_chunk()) {
//     for each `row` of the chunk, from chunk * kRowsOfChunk on:
//       add_row(reduction, row, row_accumulators);
//   }

constexpr int kRowsOfChunk = kShape.rows_of_chunk(), kChunks = kShape.chunks();
using Reduction = SplitKReduction<kSplitK, kChunks>;

constexpr int kPartialElements = kShape.partial_tile_elements();

// A thread's quads of a row in a split-K slice's partial tile; neighbours in memory belong to
// neighbouring threads.
__device__ __forceinline__ Quad* quads_of_row(const Reduction& reduction, int slice, int row) {
  const int quad = (slice * kThreadM + row) * kQuadsN;
  return reinterpret_cast<Quad*>(reduction.partial_tiles) + quad * kThreads + threadIdx.x;
}
// To the L2 cache, where all SMs see it, and from there.
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
// Which of a row's accumulators is element `element` of a quad: neighbours change places. What is
// stored together must lie in neighbouring registers, as what is read together of B does. In the
// same order an accumulator and its B would share a register bank, and most multiply-adds would
// wait for the second of them: a bank conflict.
__device__ __forceinline__ int accumulator_of_quad(int quad, int element) {
  return quad * kQuad + (element ^ 1);
}

__device__ __forceinline__ int hand_in(const Reduction& reduction, int slice, bool waits,
                                       const Accumulators& accumulators) {
#pragma unroll
  for (int row = 0; row < kThreadM; ++row) {
    Quad* const to = quads_of_row(reduction, slice, row);
#pragma unroll
    for (int quad = 0; quad < kQuadsN; ++quad) {
      Quad to_store;
#pragma unroll
      for (int element = 0; element < kQuad; ++element) {
        to_store.element[element] = accumulators[row][accumulator_of_quad(quad, element)];
      }
      store_cached(to + quad * kThreads, to_store.element);
    }
  }
  return reduction.begin(waits);
}

// A row's accumulators, over all slices of K; several are on their way at a time.
constexpr int kSlicesAtOnce = 16 / kQuadsN < kSplitK ? 16 / kQuadsN : kSplitK;
__device__ __forceinline__ void add_row(const Reduction& reduction, int row,
                                        Accumulator (&accumulators)[kThreadN]) {
#pragma unroll
  for (int n = 0; n < kThreadN; ++n) {
    accumulators[n] = 0;
  }
#pragma unroll 1
  for (int first = 0; first < kSplitK; first += kSlicesAtOnce) {
    Quad quads[kSlicesAtOnce][kQuadsN];
#pragma unroll
    for (int slice = 0; slice < kSlicesAtOnce; ++slice) {
#pragma unroll
      for (int quad = 0; quad < kQuadsN; ++quad) {
        if (first + slice < kSplitK) {
          load_cached(quads_of_row(reduction, first + slice, row) + quad * kThreads,
                      quads[slice][quad].element);
        }
      }
    }
#pragma unroll
    for (int slice = 0; slice < kSlicesAtOnce; ++slice) {
#pragma unroll
      for (int quad = 0; quad < kQuadsN; ++quad) {
        if (first + slice < kSplitK) {
          const Quad& of_slice = quads[slice][quad];
#pragma unroll
          for (int element = 0; element < kQuad; ++element) {
            add(of_slice.element[element], accumulators[accumulator_of_quad(quad, element)]);
          }
        }
      }
    }
  }
}

// If all CTAs of the launch run in one wave, those that hold slices of a tile may wait for each
// other.
__device__ __forceinline__ bool all_run_at_once() {
  return gridDim.x <= sm_id_count() * kBlocksPerSm;
}

// With split_k > 1: the CTAs that hold the other slices reduce chunks of the tile, too.
__device__ __forceinline__ void reduce_and_store(const Arguments& arguments, const WorkTile& work,
                                                 const ThreadOrigin& origin, int* scratch,
                                                 const Accumulators& accumulators) {
  const Epilogue epilogue = begin_epilogue(arguments, work.batch_index);
  TypeD* const d = matrix_d(arguments, work.batch_index) + offset_d(arguments, work.m0, work.n0);
  const ThreadGroup block{static_cast<int>(threadIdx.x), kThreads, 0};
  const Reduction reduction =
      split_k_reduction<kSplitK, kChunks>(arguments, work.tile, kPartialElements, block, scratch);
  int chunk = hand_in(reduction, work.slice, all_run_at_once(), accumulators);
  for (; chunk < kChunks; chunk = reduction.next_chunk()) {
#pragma unroll 1
    for (int row = chunk * kRowsOfChunk; row < (chunk + 1) * kRowsOfChunk; ++row) {
      Accumulator row_accumulators[kThreadN];
      add_row(reduction, row, row_accumulators);
      const int m = row_of_accumulators(origin, row);
      if (m < work.rows) {
        store_row(epilogue, work, m, origin.n, row_accumulators, d + offset_d(arguments, m, 0));
      }
    }
  }
}

// ---- 6. Entry -----------------------------------------------------------------------------------
extern "C" __global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    tunedgemm_simt(const __grid_constant__ Arguments arguments) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  Accumulator* const shared = reinterpret_cast<Accumulator*>(shared_bytes);
  const WorkTile work = work_tile_of_cta(arguments);
  const ThreadOrigin origin = origin_of_thread();
  OperandA a;
  OperandB b;
  a.start(matrix_a(arguments, work.batch_index) + offset_a(arguments, work.m0, work.k0),
          arguments.lda, work.rows);
  b.start(matrix_b(arguments, work.batch_index) + offset_b(arguments, work.k0, work.n0),
          arguments.ldb, work.columns);

#pragma unroll 1
  for (int stage = 0; stage < kStages - 1; ++stage) {
    if (stage < work.steps) {
      begin_copy(a, b, shared + stage * kStage, work, stage, Steps::kAny);
      end_copy(a, b, shared + stage * kStage);
    } else if (kAsyncCopy) {
      end_copy_group();
    }
  }
  wait_for_stage();

  Accumulators accumulators = {};
  Reader reader = begin_reading(origin);
  read(reader, shared, 0);
  const bool all_are_whole = work.whole_steps == work.steps;
  const int end = all_are_whole ? work.steps : work.whole_steps - (kStages - 1);
  int step = 0;
#pragma unroll 1
  for (; step < end; ++step) {
    multiply_step(a, b, shared, work, step, Steps::kWhole, reader, accumulators);
  }
#pragma unroll 1
  for (; step < work.steps; ++step) {
    multiply_step(a, b, shared, work, step, Steps::kAny, reader, accumulators);
  }

  if (kSplitK == 1) {
    store(arguments, work, origin, accumulators);
  } else {
    reduce_and_store(arguments, work, origin, reinterpret_cast<int*>(shared), accumulators);
  }
}
