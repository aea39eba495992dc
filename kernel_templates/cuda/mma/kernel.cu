// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        on the tensor cores (sm_80 and later)
//
// Read simt.cu first. New here: a warp, not a thread, multiplies. One instruction takes 16 rows of
// A and 8 columns of B, both spread over the registers of all 32 lanes (ptx/mma.cuh); the tiles
// lie in shared memory so that a warp fetches such fragments without two lanes meeting in a bank
// (mma/tile.cuh), whichever way the operands lie in global memory (mma/fragment.cuh). It serves
// every type, layout and alignment; wgmma.cu is faster where it applies.
//
//        K, block_k a step                block_n                   a warp, for each step of k:
//       +----------------+        +------+------+------+
//    A  |[]-> ring of    |        | warp | warp |      |              B   8 8 8 8 8 8 8 8
//       |    `stages`    |        |warp_m x warp_n     | block_m    A  16 # # # # # # # #
//       +----------------+        +------+------+------+              16 # # # # # # # #  warp_m
//    B  [ ]-> tiles               |      |      |      |              16 # # # # # # # #
//                                 +------+------+------+                     warp_n
//
//   for every step of every tile along K:  start copying a part of the tile stages - 1 ahead
//                                          before the last one: the next tile is there; barrier
//                                          fragments of the next step <- shared;  sums += a * b
//
// In the end the sums go through shared memory once more, so that a thread stores neighbours of a
// row of D. With split_k blocks a tile of D, each sums a part of K (common/store.cuh).
//
// How types are multiplied: f16, bf16, s8 and f64 as they are; f32 rounded to tf32 (NUMERICS 1), or
// split into three bf16 (NUMERICS 2, emulated: see mma/fragment.cuh); fp8 as it is where there is
// such an instruction and NUMERICS is 3 (fast), otherwise as f16, with exact products and f32 sums.
//
// Price: stages * block_k * (block_m * sizeof(a) + block_n * sizeof(b)) bytes of shared memory;
// warp_m * warp_n / 32 accumulators, the fragments of two steps and about 50 more in registers.
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
#include "../common/problem.cuh"
#ifndef BLOCK_M
#define BLOCK_M 128  // rows of a block's tile of D
#endif
#ifndef BLOCK_N
#define BLOCK_N 256  // columns of it
#endif
#ifndef BLOCK_K
#define BLOCK_K 64  // a tile along K
#endif
#ifndef WARP_M
#define WARP_M 64  // rows of a warp's part of the tile
#endif
#ifndef WARP_N
#define WARP_N 64
#endif
#ifndef STAGES
#define STAGES 3  // tiles in shared memory: one is multiplied, the others are being copied
#endif
#ifndef GROUP_M
#define GROUP_M 8  // rows of tiles that walk together
#endif
#ifndef SPLIT_K
#define SPLIT_K 1  // blocks that share the K of a tile
#endif
#ifndef THREADS
#define THREADS (32 * (BLOCK_M / WARP_M) * (BLOCK_N / WARP_N))
#endif
constexpr int kBlockM = BLOCK_M, kBlockN = BLOCK_N, kBlockK = BLOCK_K;
constexpr int kWarpM = WARP_M, kWarpN = WARP_N;
constexpr int kStages = STAGES, kGroupM = GROUP_M, kSplitK = SPLIT_K;
constexpr int kThreads = THREADS;
constexpr int kOtherRegisters = 50;  // of a thread, besides sums and operands

// ---- 3. What must hold --------------------------------------------------------------------------
constexpr int kWarps = kBlockM / kWarpM * (kBlockN / kWarpN);
static_assert(kBlockM % kWarpM == 0 && kBlockN % kWarpN == 0,
              "block_m and block_n must be multiples of warp_m and warp_n");
static_assert(kWarpM >= 16 && (kWarpM & (kWarpM - 1)) == 0, "warp_m must be 16, 32, 64 or 128");
static_assert(kWarpN >= 16 && (kWarpN & (kWarpN - 1)) == 0, "warp_n must be 16, 32, 64 or 128");
static_assert(
    kThreads == 32 * kWarps && (kWarps & (kWarps - 1)) == 0 && kWarps <= 16,
    "the warps of a block, block_m / warp_m * block_n / warp_n, must be 1, 2, 4, 8 or 16");

constexpr int kElementBytes = sizeof(TypeA);
// A step along K is 32 bytes of an operand's line; 64 of f64, and of f32 where it is emulated.
constexpr int kStepBytes = kElementBytes == 8 || kNumerics == Numerics::kEmulated ? 64 : 32;
constexpr int kSteps = kBlockK * kElementBytes / kStepBytes;
static_assert(kBlockK * kElementBytes % kStepBytes == 0 && kSteps >= 1,
              "block_k must be a multiple of 32 bytes (f64 and emulated f32: 64 bytes)");
static_assert(kStages >= 2 && kStages <= 6, "stages must be 2 to 6");
static_assert(kStages >= 3 || (kAlignA >= 4 && kAlignB >= 4),
              "stages must be 3 or more where rows are not aligned to 4 bytes");
static_assert(kElementBytes != 4 || kNumerics != Numerics::kIeee,
              "f32 with IEEE products is for the simt family");
static_assert(kGroupM >= 1 && kSplitK >= 1, "group_m and split_k must be 1 or more");

constexpr int kRingBytes = kStages * kBlockK * kElementBytes * (kBlockM + kBlockN);
constexpr int kSlabPitch = kWarpN + 8;  // 8 more than the banks, so that rows start in other banks
constexpr int kSlabBytes = 16 * kSlabPitch * sizeof(Accumulator);  // 16 rows of a warp's sums
constexpr int kSharedBytes = kRingBytes > kWarps* kSlabBytes ? kRingBytes : kWarps* kSlabBytes;
#ifndef SHARED_BYTES
#define SHARED_BYTES kSharedBytes
#endif
static_assert(SHARED_BYTES == kSharedBytes,
              "SHARED_BYTES must be the larger of stages * block_k * (block_m + block_n) elements "
              "and 16 * (warp_n + 8) accumulators a warp");

// ---- 4. Words -----------------------------------------------------------------------------------
#include "../common/rasterization.cuh"
#include "../common/store.cuh"
#include "fragment.cuh"
#include "tile.cuh"

// ---- 5. Moves -----------------------------------------------------------------------------------
// How the operands lie in shared memory.
__host__ __device__ constexpr Tile make_tile(int extent, bool follows_k, int alignment) {
  // Two lanes share a unit where a lane of load_block() reads a single element of 4 or 8 bytes.
  const bool by_element = kElementBytes == 8 || (kElementBytes == 4 && !follows_k);
  return {.lines = follows_k ? extent : kBlockK,
          .line_bytes = (follows_k ? kBlockK : extent) * kElementBytes,
          .element_bytes = kElementBytes,
          .follows_k = follows_k,
          .unit_bytes = by_element ? 32 : 16,
          .shuffles_k = kElementBytes == 1 && !follows_k,
          .copy_bytes = alignment >= 4 ? alignment : kElementsInFlight * kElementBytes,
          .asynchronous = alignment >= 4,
          .threads = kThreads};
}
constexpr Tile kTileA = make_tile(kBlockM, kOrderA == Order::kRowMajor, kAlignA);
constexpr Tile kTileB = make_tile(kBlockN, kOrderB == Order::kColumnMajor, kAlignB);
constexpr int kBytesOfTileA = tile_bytes(kTileA);
constexpr int kStageBytes = kBytesOfTileA + tile_bytes(kTileB);

// What a block computes.
struct Work {
  long long entry;
  long long tile;  // counted over the whole batch
  int part;        // of split_k
  long long m0, n0, k0;
  int tiles_of_k;  // from k0 on
  int last_k;      // of the last one of them: less than block_k where K ends
};

__device__ __forceinline__ Work work_of_block(const Arguments& arguments) {
  const int tiles_m = static_cast<int>((arguments.m + kBlockM - 1) / kBlockM);
  const int tiles_n = static_cast<int>((arguments.n + kBlockN - 1) / kBlockN);
  const int tiles = tiles_m * tiles_n;
  const int index = static_cast<int>(blockIdx.x) % tiles;
  const int part = static_cast<int>(blockIdx.x) / tiles;
  const TilePlace at = tile_at(index, tiles_m, tiles_n, kGroupM);
  const int tiles_of_k = static_cast<int>((arguments.k + kBlockK - 1) / kBlockK);
  Work work;
  work.entry = part / kSplitK;
  work.part = part % kSplitK;
  work.tile = work.entry * tiles + index;
  work.m0 = static_cast<long long>(at.tile_m) * kBlockM;
  work.n0 = static_cast<long long>(at.tile_n) * kBlockN;
  const int first = static_cast<int>(static_cast<long long>(tiles_of_k) * work.part / kSplitK);
  const int end = static_cast<int>(static_cast<long long>(tiles_of_k) * (work.part + 1) / kSplitK);
  work.k0 = static_cast<long long>(first) * kBlockK;
  work.tiles_of_k = end - first;
  work.last_k = end == tiles_of_k ? static_cast<int>(arguments.k - (end - 1LL) * kBlockK) : kBlockK;
  return work;
}

// Copies the tiles along K into the ring, one after the other, a portion in every step.
struct Loader {
  Copier a, b;
  int tiles_left;  // along K, with the one that is copied now; none left: zeros are copied
  int last_k;      // of the last one
  char* stage;     // where the tile goes
  unsigned short elements_a[rounds_in_flight(kTileA, kSteps)][kElementsInFlight];
  unsigned short elements_b[rounds_in_flight(kTileB, kSteps)][kElementsInFlight];
};

__device__ __forceinline__ Loader make_loader(const Arguments& arguments, const Work& work,
                                              char* ring) {
  Loader loader;
  loader.a = begin_copies(
      kTileA, batch_entry_a(arguments, work.entry) + offset_a(arguments, work.m0, work.k0),
      arguments.lda * kElementBytes, arguments.m - work.m0);
  loader.b = begin_copies(
      kTileB, batch_entry_b(arguments, work.entry) + offset_b(arguments, work.k0, work.n0),
      arguments.ldb * kElementBytes, arguments.n - work.n0);
  loader.tiles_left = work.tiles_of_k;
  loader.last_k = work.last_k;
  loader.stage = ring;
  return loader;
}

__device__ __forceinline__ void start_copying(Loader& loader, int step) {
  const int k_left = loader.tiles_left > 1 ? kBlockK : loader.tiles_left == 1 ? loader.last_k : 0;
  start_copies(kTileA, loader.a, loader.stage, step, kSteps, k_left, loader.elements_a);
  start_copies(kTileB, loader.b, loader.stage + kBytesOfTileA, step, kSteps, k_left,
               loader.elements_b);
}

__device__ __forceinline__ void finish_copying(const Loader& loader, int step) {
  finish_copies(kTileA, loader.a, loader.stage, step, kSteps, loader.elements_a);
  finish_copies(kTileB, loader.b, loader.stage + kBytesOfTileA, step, kSteps, loader.elements_b);
}

__device__ __forceinline__ char* next_stage(char* ring, char* stage) {
  return stage == ring + (kStages - 1) * kStageBytes ? ring : stage + kStageBytes;
}

__device__ __forceinline__ void next_tile(Loader& loader, char* ring) {
  --loader.tiles_left;
  loader.stage = next_stage(ring, loader.stage);
}

struct WarpPlace {
  int m, n;  // where a warp's part of the tile begins
};
__device__ __forceinline__ WarpPlace place_of_warp() {
  const int warp = threadIdx.x / 32, warps_n = kBlockN / kWarpN;
  return {warp / warps_n * kWarpM, warp % warps_n * kWarpN};
}

// What a warp multiplies in one step, as it lies in shared memory, in blocks of 16 by 8 words.
constexpr int kBlocksM = kWarpM / 16, kBlocksN = kWarpN / 16;
constexpr int kBlocksPerStep = kNumerics == Numerics::kEmulated ? 2 : 1;
constexpr int kWordBytes = kElementBytes == 8 ? 8 : 4;
using Word = decltype(word_type(Accumulator()));

struct Fragments {
  Word a[kBlocksM][kBlocksPerStep][4];
  Word b[kBlocksN][kBlocksPerStep][4];
};

__device__ __forceinline__ void load_fragments(const char* stage, const WarpPlace& place, int step,
                                               Fragments& fragments) {
#pragma unroll
  for (int block = 0; block < kBlocksPerStep; ++block) {
    const int word = step * kStepBytes / kWordBytes + block * 8;
#pragma unroll
    for (int m = 0; m < kBlocksM; ++m) {
      load_block(kTileA, Words::kRowsFirst, stage, place.m, m * 16, word, fragments.a[m][block]);
    }
#pragma unroll
    for (int n = 0; n < kBlocksN; ++n) {
      load_block(kTileB, Words::kKFirst, stage + kBytesOfTileA, place.n, n * 16, word,
                 fragments.b[n][block]);
    }
  }
}

// The factors that prepare() makes of a step's blocks, and which of A's meets which of B's.
constexpr bool kIsFp8 = kElementBytes == 1 && !kSumsAreIntegers;
constexpr bool kWidens = kIsFp8 && !(kMultipliesFp8 && kNumerics == Numerics::kFast);
constexpr bool kEmulates = kNumerics == Numerics::kEmulated;
constexpr int kFactors = kEmulates ? 3 : kWidens ? 2 : 1;
constexpr int kProducts = kEmulates ? 6 : kFactors;
using FactorA = decltype(factor_type(TypeA(), *static_cast<const char (*)[kFactors]>(nullptr)));
using FactorB = decltype(factor_type(TypeB(), *static_cast<const char (*)[kFactors]>(nullptr)));

struct Product {
  int a, b;
};
__device__ __forceinline__ constexpr Product product_at(int index) {
  constexpr Product emulated[6] = {{2, 0}, {0, 2}, {1, 1}, {1, 0}, {0, 1}, {0, 0}};
  return kEmulates ? emulated[index] : Product{index, index};
}

// 16 x 8 sums: `half` says which 8 of B's 16 columns.
__device__ __forceinline__ void multiply_factors(const Word (&a)[kFactors][4],
                                                 const Word (&b)[kFactors][4], int half,
                                                 Accumulator (&sums)[4]) {
#pragma unroll
  for (int index = 0; index < kProducts; ++index) {
    const Product product = product_at(index);
    multiply_fragments(FactorA(), FactorB(), sums, a[product.a], b[product.b][2 * half],
                       b[product.b][2 * half + 1]);
  }
}

using Sums = Accumulator[kBlocksM][2 * kBlocksN][4];

// If there are registers for it, the fragments of the next step are loaded while this one's are
// multiplied. These are a thread's for sums, for a step's fragments and for what is made of them.
constexpr int kOfSums = sizeof(Sums) / 4, kOfFragments = sizeof(Fragments) / 4;
constexpr int kOfEmulated = 12 * kBlocksM + 18 * kBlocksN, kOfWidened = 8 + 8 * kBlocksN;
constexpr int kOfFactors = kEmulates ? kOfEmulated : kWidens ? kOfWidened : 0;
constexpr int kBuffers = kOfSums + 2 * kOfFragments + kOfFactors + kOtherRegisters <= 255 ? 2 : 1;

// Neighbouring instructions share A's four registers, back and forth along n: 3 to 8 % faster than
// sharing B's two (f16, 4096^3, H200, 2026-11-21).
__device__ __forceinline__ void multiply(const Fragments& fragments, Sums& sums) {
  Word a[kFactors][4], b[kBlocksN][kFactors][4];
#pragma unroll
  for (int n = 0; n < kBlocksN; ++n) {
    prepare(TypeB(), Words::kKFirst, fragments.b[n], b[n]);
  }
#pragma unroll
  for (int m = 0; m < kBlocksM; ++m) {
    prepare(TypeA(), Words::kRowsFirst, fragments.a[m], a);
#pragma unroll
    for (int index = 0; index < 2 * kBlocksN; ++index) {
      const int n = m % 2 == 0 ? index : 2 * kBlocksN - 1 - index;
      if (!kEmulates) {
        multiply_factors(a, b[n / 2], n % 2, sums[m][n]);
        continue;
      }
      Accumulator fresh[4] = {};
      multiply_factors(a, b[n / 2], n % 2, fresh);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        add(fresh[i], sums[m][n][i]);
      }
    }
  }
}

// 16 rows of the warp's sums after the other go through its slab of shared memory.
__device__ __forceinline__ void store(const Arguments& arguments, const Work& work,
                                      const WarpPlace& place, const Sums& sums, char* shared) {
  const Epilogue epilogue = begin_epilogue(arguments, work.entry);
  auto* const slab = reinterpret_cast<Accumulator*>(shared + threadIdx.x / 32 * kSlabBytes);
  constexpr int runs_a_row = kWarpN / kRun;
#pragma unroll
  for (int m = 0; m < kBlocksM; ++m) {
#pragma unroll
    for (int n = 0; n < kBlocksN; ++n) {
      spread(sums[m][2 * n], sums[m][2 * n + 1], rows_alternate(kTileA), rows_alternate(kTileB),
             slab + n * 16, kSlabPitch);
    }
    __syncwarp();
#pragma unroll 1
    for (int run = threadIdx.x % 32; run < 16 * runs_a_row; run += 32) {
      const int row = run / runs_a_row, column = run % runs_a_row * kRun;
      store_run(arguments, epilogue, work.entry,
                *reinterpret_cast<const RunOfSums*>(slab + row * kSlabPitch + column),
                work.m0 + place.m + m * 16 + row, work.n0 + place.n + column);
    }
    __syncwarp();
  }
}

// ---- 6. The kernel ------------------------------------------------------------------------------
extern "C" __global__ void __launch_bounds__(kThreads, 1)
    tunedgemm_mma(const __grid_constant__ Arguments arguments) {
  extern __shared__ __align__(128) char shared[];
  const Work work = work_of_block(arguments);
  const WarpPlace place = place_of_warp();
  Loader loader = make_loader(arguments, work, shared);
  for (int stage = 0; stage < kStages - 1; ++stage) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      start_copying(loader, step);
      finish_copying(loader, step);
    }
    end_copy_group();
    next_tile(loader, shared);
  }
  wait_for_copies(kStages - 2);
  __syncthreads();

  Sums sums = {};
  Fragments fragments[kBuffers];
  char* stage = shared;
  load_fragments(stage, place, 0, fragments[0]);
  for (int tile = 0; tile < work.tiles_of_k; ++tile) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      start_copying(loader, step);
      if (step == kSteps - 1) {
        end_copy_group();
        wait_for_copies(kStages - 2);
        __syncthreads();
        stage = next_stage(shared, stage);
      }
      if (kBuffers == 2) {
        load_fragments(stage, place, (step + 1) % kSteps, fragments[(step + 1) % 2]);
      }
      multiply(fragments[step % kBuffers], sums);
      if (kBuffers == 1) {
        load_fragments(stage, place, (step + 1) % kSteps, fragments[0]);
      }
      finish_copying(loader, step);
    }
    if (kBuffers == 2 && kSteps % 2 == 1) {
      fragments[0] = fragments[kBuffers - 1];
    }
    next_tile(loader, shared);
  }
  wait_for_copies(0);
  __syncthreads();

  if (kSplitK == 1 ||
      sum_parts(arguments, work.tile, work.part, kSplitK,
                Team{static_cast<int>(threadIdx.x), kThreads, 0}, &sums[0][0][0],
                sizeof(Sums) / sizeof(Accumulator), reinterpret_cast<int*>(shared))) {
    store(arguments, work, place, sums, shared);
  }
}
