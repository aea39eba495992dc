// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        on the ordinary cores, in f32, f64 or s32
//
// Read tiled_shared.cu first. New here: registers are one more level of tiles. A block owns a tile
// of D, a warp a part of it, and a thread thread_m x thread_n sums in registers, so that what it
// reads from shared memory, thread_m + thread_n numbers, serves thread_m * thread_n multiply-adds.
// While it multiplies, the next tiles of A and B are on their way.
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
//                    for every k of the step:  fragments of k + 1 <- shared;  sums += a[k] * b[k]
//                    end the copy; barrier
//
// Both operands lie in shared memory with k as the row, so that a fragment is read 16 bytes at a
// time. An operand whose neighbours in memory follow K is turned round on its way in.
//
// Price: stages * block_k * (block_m + block_n + 32 bytes' worth) accumulators of shared memory;
// thread_m * thread_n + 2 * (thread_m + thread_n) accumulators, and about 40 more, in registers.
//
//   nvcc -std=c++20 -arch=sm_90 -cubin kernel_templates/cuda/simt.cu

// ---- 2. Knobs -----------------------------------------------------------------------------------
#include "words/problem.cuh"
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
#define THREAD_M 8  // rows of a thread's sums
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
#define GROUP_M 8  // rows of tiles that walk together
#endif
#ifndef SPLIT_K
#define SPLIT_K 1  // blocks that share the K of a tile
#endif
#ifndef BLOCKS_PER_SM
#define BLOCKS_PER_SM 1  // bounds the registers so that so many blocks fit on a multiprocessor
#endif
#ifndef THREADS
#define THREADS (32 * (BLOCK_M / WARP_M) * (BLOCK_N / WARP_N))
#endif
#ifndef SHARED_BYTES
#define SHARED_BYTES (STAGES * BLOCK_K * ((BLOCK_M + BLOCK_N) * sizeof(Accumulator) + 32))
#endif
constexpr int kBlockM = BLOCK_M, kBlockN = BLOCK_N, kBlockK = BLOCK_K;
constexpr int kWarpM = WARP_M, kWarpN = WARP_N;
constexpr int kThreadM = THREAD_M, kThreadN = THREAD_N;
constexpr int kStages = STAGES;
constexpr bool kAsyncCopy = ASYNC_COPY != 0;
constexpr int kGroupM = GROUP_M, kSplitK = SPLIT_K;
constexpr int kThreads = THREADS, kBlocksPerSm = BLOCKS_PER_SM;

// ---- 3. What must hold --------------------------------------------------------------------------
constexpr int kLanesM = kWarpM / kThreadM, kLanesN = kWarpN / kThreadN;
static_assert(kBlockM % kWarpM == 0 && kBlockN % kWarpN == 0,
              "block_m and block_n must be multiples of warp_m and warp_n");
static_assert(kWarpM % kThreadM == 0 && kWarpN % kThreadN == 0 && kLanesM * kLanesN == 32,
              "warp_m x warp_n must be 32 tiles of thread_m x thread_n");
static_assert(kLanesM >= 2 && kLanesN >= 2, "a warp must have 2 lanes or more each way");
static_assert(kThreadM * sizeof(Accumulator) % 16 == 0 && kThreadN * sizeof(Accumulator) % 16 == 0,
              "thread_m and thread_n must be multiples of 16 bytes of accumulators");
static_assert(kBlockK % 8 == 0, "block_k must be a multiple of 8");
static_assert(kStages >= 2 && kStages <= 6, "stages must be 2 to 6");
static_assert(kAsyncCopy || kStages == 2, "stages must be 2 unless async_copy=1");
static_assert(!kAsyncCopy ||
                  (sizeof(TypeA) == sizeof(Accumulator) && sizeof(TypeB) == sizeof(TypeA)),
              "async_copy=1 cannot convert: A and B must have the accumulator's type");
static_assert(kThreads == 32 * (kBlockM / kWarpM) * (kBlockN / kWarpN) && kThreads <= 1024,
              "a block has a warp for every warp_m x warp_n of its tile, 32 at most");
static_assert(SHARED_BYTES == kStages * kBlockK * ((kBlockM + kBlockN) * sizeof(Accumulator) + 32),
              "SHARED_BYTES must be stages * block_k * ((block_m + block_n) accumulators + 32)");
static_assert(kGroupM >= 1 && kSplitK >= 1, "group_m and split_k must be 1 or more");

// ---- 4. Words -----------------------------------------------------------------------------------
#include "words/epilogue.cuh"
#include "words/operand.cuh"
#include "words/split_k.cuh"
#include "words/tile_order.cuh"

// ---- 5. Moves -----------------------------------------------------------------------------------
// Where a block works: a tile of D, with its origin, and a part of K.
struct Work {
  long long entry;
  long long tile;  // counted over the whole batch
  int part;        // of split_k
  long long m0, n0, k0;
  int rows, columns;  // inside D: at most block_m and block_n
  long long depth;    // of this part of K
};

__device__ __forceinline__ Work work_of_block(const Arguments& arguments) {
  const int tiles_m = static_cast<int>((arguments.m + kBlockM - 1) / kBlockM);
  const int tiles_n = static_cast<int>((arguments.n + kBlockN - 1) / kBlockN);
  const int tiles = tiles_m * tiles_n;
  const int part_of_batch = static_cast<int>(blockIdx.x) / tiles;
  const TilePlace at = tile_at(static_cast<int>(blockIdx.x) % tiles, tiles_m, tiles_n, kGroupM);
  Work work;
  work.entry = part_of_batch / kSplitK;
  work.part = part_of_batch % kSplitK;
  work.tile = work.entry * tiles + static_cast<int>(blockIdx.x) % tiles;
  work.m0 = static_cast<long long>(at.tile_m) * kBlockM;
  work.n0 = static_cast<long long>(at.tile_n) * kBlockN;
  work.rows = static_cast<int>(min(arguments.m - work.m0, static_cast<long long>(kBlockM)));
  work.columns = static_cast<int>(min(arguments.n - work.n0, static_cast<long long>(kBlockN)));
  const long long steps = (arguments.k + kBlockK - 1) / kBlockK;
  work.k0 = steps * work.part / kSplitK * kBlockK;
  work.depth = min(arguments.k, steps * (work.part + 1) / kSplitK * kBlockK) - work.k0;
  return work;
}

using OperandA =
    Operand<TypeA, kOrderA == Order::kRowMajor, kAlignA, kBlockM, kBlockK, kThreads, kAsyncCopy>;
using OperandB =
    Operand<TypeB, kOrderB == Order::kColumnMajor, kAlignB, kBlockN, kBlockK, kThreads, kAsyncCopy>;
// A stage in shared memory: the tile of A, then that of B.
constexpr int kStageA = kBlockK * OperandA::kPitch;
constexpr int kStage = kStageA + kBlockK * OperandB::kPitch;

// Begins to copy the next step of both operands, if there is one. Even an empty group of copies is
// ended, so that waiting can count groups.
__device__ __forceinline__ void begin_copy(OperandA& a, OperandB& b, Accumulator* stage,
                                           long long depth) {
  if (depth > 0) {
    const int left = static_cast<int>(min(depth, static_cast<long long>(kBlockK)));
    a.begin_copy(stage, left);
    b.begin_copy(stage + kStageA, left);
  }
  if constexpr (kAsyncCopy) {
    end_copy_group();
  }
}

__device__ __forceinline__ void end_copy(const OperandA& a, const OperandB& b, Accumulator* stage,
                                         long long depth) {
  if (!kAsyncCopy && depth > 0) {
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

__device__ __forceinline__ int next_stage(int stage) {
  return stage + 1 == kStages ? 0 : stage + 1;
}

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

struct Fragments {
  Quad a[kQuadsM], b[kQuadsN];
};

__device__ __forceinline__ void load_fragments(const Accumulator* stage, const ThreadPlace& place,
                                               int k, Fragments& fragments) {
  const Accumulator* const a = stage + k * OperandA::kPitch + place.m;
  const Accumulator* const b = stage + kStageA + k * OperandB::kPitch + place.n;
#pragma unroll
  for (int quad = 0; quad < kQuadsM; ++quad) {
    fragments.a[quad] = *reinterpret_cast<const Quad*>(a + quad * kStrideM);
  }
#pragma unroll
  for (int quad = 0; quad < kQuadsN; ++quad) {
    fragments.b[quad] = *reinterpret_cast<const Quad*>(b + quad * kStrideN);
  }
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

// The quad of partial tile `part` that holds sums[m][n ...] of this thread: neighbours in memory
// are neighbouring threads.
__device__ __forceinline__ Quad* partial_quad(const Arguments& arguments, const Work& work,
                                              int part, int m, int n) {
  Accumulator* const partial = partial_tile(arguments, work.tile, part, kSplitK, kBlockM * kBlockN);
  const int quad = m * kQuadsN + n / kQuad;
  return reinterpret_cast<Quad*>(partial) + quad * kThreads + threadIdx.x;
}

// Hands in this block's part of the sums. In the block that comes last they become those of all
// parts, and true is returned.
__device__ __forceinline__ bool sum_parts(const Arguments& arguments, const Work& work, Sums& sums,
                                          Accumulator* shared) {
#pragma unroll
  for (int m = 0; m < kThreadM; ++m) {
#pragma unroll
    for (int n = 0; n < kThreadN; n += kQuad) {
      Quad quad;
#pragma unroll
      for (int element = 0; element < kQuad; ++element) {
        quad.element[element] = sums[m][n + element];
      }
      *partial_quad(arguments, work, work.part, m, n) = quad;
    }
  }
  if (!arrives_last(arguments, work.tile, kSplitK, Team{static_cast<int>(threadIdx.x), kThreads, 0},
                    reinterpret_cast<int*>(shared))) {
    return false;
  }
#pragma unroll
  for (int m = 0; m < kThreadM; ++m) {
#pragma unroll
    for (int n = 0; n < kThreadN; ++n) {
      sums[m][n] = 0;
    }
  }
#pragma unroll 1
  for (int part = 0; part < kSplitK; ++part) {
#pragma unroll
    for (int m = 0; m < kThreadM; ++m) {
#pragma unroll
      for (int n = 0; n < kThreadN; n += kQuad) {
        const Quad quad = *partial_quad(arguments, work, part, m, n);
#pragma unroll
        for (int element = 0; element < kQuad; ++element) {
          add(quad.element[element], sums[m][n + element]);
        }
      }
    }
  }
  return true;
}

constexpr bool kStoresVectors = kAlignD >= kQuad * static_cast<int>(sizeof(TypeD));
struct alignas(kStoresVectors ? kQuad * sizeof(TypeD) : sizeof(TypeD)) VectorD {
  TypeD element[kQuad];
};

// The sums of one row of this thread, from column place.n on.
__device__ __forceinline__ void store_row(const Epilogue& epilogue, const Work& work, int m, int n0,
                                          const Accumulator (&sums)[kThreadN], TypeD* d) {
#pragma unroll
  for (int sum = 0; sum < kThreadN; sum += kQuad) {
    const int n = n0 + sum / kQuad * kStrideN, present = min(work.columns - n, kQuad);
    VectorD vector;
#pragma unroll
    for (int element = 0; element < kQuad; ++element) {
      if (element < present) {
        vector.element[element] =
            finish(epilogue, sums[sum + element], work.m0 + m, work.n0 + n + element);
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

// Row after row is stored from the place of the first one, and the others move up: unrolled, that
// costs nothing; and a long activation needs to stand there for one row only.
constexpr int kRowsUnrolled = kLongActivation ? 1 : kThreadM;

__device__ __forceinline__ void store(const Arguments& arguments, const Work& work,
                                      const ThreadPlace& place, Sums& sums) {
  const Epilogue epilogue = begin_epilogue(arguments, work.entry);
  TypeD* const d = batch_entry_d(arguments, work.entry) + offset_d(arguments, work.m0, work.n0);
#pragma unroll kRowsUnrolled
  for (int row = 0; row < kThreadM; ++row) {
    const int m = place.m + row / kQuad * kStrideM + row % kQuad;
    if (m < work.rows) {
      store_row(epilogue, work, m, place.n, sums[0], d + offset_d(arguments, m, 0));
    }
#pragma unroll
    for (int above = 0; above + 1 < kThreadM; ++above) {
#pragma unroll
      for (int n = 0; n < kThreadN; ++n) {
        sums[above][n] = sums[above + 1][n];
      }
    }
  }
}

// ---- 6. The kernel ------------------------------------------------------------------------------
extern "C" __global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    tunedgemm_simt(const __grid_constant__ Arguments arguments) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  Accumulator* const shared = reinterpret_cast<Accumulator*>(shared_bytes);
  const Work work = work_of_block(arguments);
  const ThreadPlace place = place_of_thread();
  OperandA a;
  OperandB b;
  a.start(batch_entry_a(arguments, work.entry) + offset_a(arguments, work.m0, work.k0),
          arguments.lda, work.rows);
  b.start(batch_entry_b(arguments, work.entry) + offset_b(arguments, work.k0, work.n0),
          arguments.ldb, work.columns);

  long long to_copy = work.depth;
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) {
    begin_copy(a, b, shared + stage * kStage, to_copy);
    end_copy(a, b, shared + stage * kStage, to_copy);
    to_copy -= kBlockK;
  }
  wait_for_stage();

  Sums sums = {};
  Fragments fragments[2];
  load_fragments(shared, place, 0, fragments[0]);
  int reading = 0, writing = kStages - 1;
  for (long long to_multiply = work.depth; to_multiply > 0; to_multiply -= kBlockK) {
    begin_copy(a, b, shared + writing * kStage, to_copy);
#pragma unroll
    for (int k = 0; k < kBlockK; ++k) {
      if (k == kBlockK - 1) {
        end_copy(a, b, shared + writing * kStage, to_copy);
        wait_for_stage();
        to_copy -= kBlockK;
        reading = next_stage(reading);
        writing = next_stage(writing);
      }
      load_fragments(shared + reading * kStage, place, (k + 1) % kBlockK, fragments[(k + 1) % 2]);
      multiply(fragments[k % 2], sums);
    }
  }

  if (kSplitK == 1 || sum_parts(arguments, work, sums, shared)) {
    store(arguments, work, place, sums);
  }
}
