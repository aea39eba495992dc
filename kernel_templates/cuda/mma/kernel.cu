// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        on the tensor cores (sm_80 and later)
//
// Read ../simt/kernel.cu first. New here: a warp, not a thread, multiplies. One instruction takes
// 16 rows of A and 8 columns of B, both spread over the registers of all 32 lanes (../ptx/mma.cuh);
// the tiles lie in shared memory so that a warp loads such fragments without bank conflicts
// (tile.cuh), whichever way the operands lie in global memory (fragment.cuh). It computes every
// type, layout and alignment; ../wgmma/kernel.cu is faster where it applies.
//
//        K, block_k a tile                block_n                   a warp, for each step of k:
//       +----------------+        +------+------+------+
//    A  |[]-> pipeline   |        | warp | warp |      |              B   8 8 8 8 8 8 8 8
//       |    of `stages` |        |warp_m x warp_n     | block_m    A  16 # # # # # # # #
//       +----------------+        +------+------+------+              16 # # # # # # # #  warp_m
//    B  [ ]-> tiles               |      |      |      |              16 # # # # # # # #
//                                 +------+------+------+                     warp_n
//
//   for every step of every tile along K:  start copying a part of the tile stages - 1 ahead
//                                          before the last one: the next tile is there; barrier
//                                          fragments of the next step <- shared;
//                                          accumulators += a * b
//
// In the epilogue the accumulators go through shared memory once more, so that a thread stores
// neighbours of a row of D. With split_k CTAs a tile of D, each has a slice of K, and the one that
// comes last adds all of them (../common/split_k.cuh).
//
// How types are multiplied: f16, bf16, s8 and f64 as they are; f32 rounded to tf32 (NUMERICS 1), or
// split into three bf16 (NUMERICS 2, emulated: see fragment.cuh); fp8 as it is where there is such
// an instruction and NUMERICS is 3 (fast), otherwise as f16, with exact products and accumulators
// of f32.
//
// Cost: stages * block_k * (block_m * sizeof(a) + block_n * sizeof(b)) bytes of shared memory;
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
#ifndef NUMERICS
#define NUMERICS 0
#endif
#include "../common/rasterization.cuh"
#include "../common/split_k.cuh"
#include "../common/store.cuh"
#include "../ptx/mma.cuh"
#include "fragment.cuh"
#include "shape.h"
#include "tile.cuh"

#ifndef BLOCK_M
#define BLOCK_M 128  // rows of a CTA's tile of D
#endif
#ifndef BLOCK_N
#define BLOCK_N 256  // columns of it
#endif
#ifndef BLOCK_K
#define BLOCK_K 64  // a tile along K
#endif
#ifndef WARP_M
#define WARP_M 64  // rows of the warp tile
#endif
#ifndef WARP_N
#define WARP_N 64  // columns of it
#endif
#ifndef STAGES
#define STAGES 3  // tiles in shared memory: one is multiplied, the others are being copied
#endif
#ifndef GROUP_M
#define GROUP_M 8  // rows of tiles in a rasterization group
#endif
#ifndef SPLIT_K
#define SPLIT_K 1  // slices of K
#endif
// The architecture, as in sm_90.
#ifdef __CUDA_ARCH__
constexpr int kArch = __CUDA_ARCH__ / 10;
#else
constexpr int kArch = 0;
#endif

// How products are formed follows from the types, the numerics and the architecture.
constexpr int kElementBytes = sizeof(TypeA);
constexpr bool kEmulates = kNumerics == Numerics::kEmulated;
constexpr bool kIsFp8 = kElementBytes == 1 && !kAccumulatorIsInteger;
constexpr bool kWidens = kIsFp8 && !(mma::multiplies_fp8(kArch) && kNumerics == Numerics::kFast);
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
                            .products = kEmulates            ? mma::Products::kEmulated
                                        : kWidens            ? mma::Products::kAsF16
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
static_assert(kShape.stages >= 2 && kShape.stages <= 6, "stages must be 2 to 6");
static_assert(kShape.stages_fit(),
              "stages must be 3 or more where rows are not aligned to 4 bytes");
static_assert(kElementBytes != 4 || kNumerics != Numerics::kIeee,
              "f32 with IEEE products is for the simt family");
static_assert(kGroupM >= 1 && kShape.split_k >= 1, "group_m and split_k must be 1 or more");
static_assert(THREADS == kShape.threads(), "THREADS must be 32 a warp");
static_assert(SHARED_BYTES == kShape.shared_bytes(),
              "SHARED_BYTES must be the larger of stages * block_k * (block_m + block_n) elements "
              "and 16 * (warp_n + 8) accumulators a warp");

// What follows from the knobs, by the names that are used below.
constexpr int kBlockM = kShape.block_m, kBlockN = kShape.block_n, kBlockK = kShape.block_k;
constexpr int kWarpM = kShape.warp_m, kWarpN = kShape.warp_n;
constexpr int kStages = kShape.stages, kSplitK = kShape.split_k;
constexpr int kThreads = kShape.threads();
constexpr int kStepBytes = kShape.step_bytes(), kSteps = kShape.steps();

// ---- 4. Mainloop --------------------------------------------------------------------------------
// A tile of D, and the slice of K that this CTA computes of it.
struct WorkTile {
  long long batch_index;
  long long tile;  // counted over the whole batch
  int slice;       // of split_k
  long long m0, n0, k0;
  int k_tiles;  // from k0 on
  int last_k;   // of the last one of them: less than block_k where K ends
};

__device__ __forceinline__ WorkTile work_tile_of_cta(const Arguments& arguments) {
  const int tiles_m = static_cast<int>((arguments.m + kBlockM - 1) / kBlockM);
  const int tiles_n = static_cast<int>((arguments.n + kBlockN - 1) / kBlockN);
  const int tiles = tiles_m * tiles_n;
  const int index = static_cast<int>(blockIdx.x) % tiles;
  const int slice_of_batch = static_cast<int>(blockIdx.x) / tiles;
  const TileCoordinate at = tile_at(index, tiles_m, tiles_n, kGroupM);
  const int k_tiles = static_cast<int>((arguments.k + kBlockK - 1) / kBlockK);
  WorkTile work;
  work.batch_index = slice_of_batch / kSplitK;
  work.slice = slice_of_batch % kSplitK;
  work.tile = work.batch_index * tiles + index;
  work.m0 = static_cast<long long>(at.tile_m) * kBlockM;
  work.n0 = static_cast<long long>(at.tile_n) * kBlockN;
  const int first = static_cast<int>(static_cast<long long>(k_tiles) * work.slice / kSplitK);
  const int end = static_cast<int>(static_cast<long long>(k_tiles) * (work.slice + 1) / kSplitK);
  work.k0 = static_cast<long long>(first) * kBlockK;
  work.k_tiles = end - first;
  work.last_k = end == k_tiles ? static_cast<int>(arguments.k - (end - 1LL) * kBlockK) : kBlockK;
  return work;
}

// How the operands lie in shared memory.
__host__ __device__ constexpr Tile make_tile(int extent, bool k_major, int alignment) {
  // Two lanes share a unit where a lane of load_block() reads a single element of 4 or 8 bytes.
  const bool by_element = kElementBytes == 8 || (kElementBytes == 4 && !k_major);
  return {.lines = k_major ? extent : kBlockK,
          .line_bytes = (k_major ? kBlockK : extent) * kElementBytes,
          .element_bytes = kElementBytes,
          .k_major = k_major,
          .unit_bytes = by_element ? 32 : 16,
          .permutes_k = kElementBytes == 1 && !k_major,
          .copy_bytes = kShape.copy_bytes(alignment),
          .asynchronous = mma::copies_asynchronously(alignment),
          .threads = kThreads};
}
constexpr Tile kTileA = make_tile(kBlockM, kOrderA == Order::kRowMajor, kAlignA);
constexpr Tile kTileB = make_tile(kBlockN, kOrderB == Order::kColumnMajor, kAlignB);
constexpr int kBytesOfTileA = tile_bytes(kTileA);
constexpr int kStageBytes = kBytesOfTileA + tile_bytes(kTileB);

// -- producer: every thread copies, too --

// Copies the tiles along K into the pipeline, one after the other, a portion in every step.
struct Loader {
  Copier a, b;
  int tiles_left;  // along K, with the one that is copied now; if none is left, zeros are copied
  int last_k;      // of the last one
  char* stage;     // where the tile goes
  unsigned short elements_a[passes_in_flight(kTileA, kSteps)][kElementsInFlight];
  unsigned short elements_b[passes_in_flight(kTileB, kSteps)][kElementsInFlight];
};

__device__ __forceinline__ Loader make_loader(const Arguments& arguments, const WorkTile& work,
                                              char* pipeline) {
  Loader loader;
  loader.a = begin_copies(
      kTileA, matrix_a(arguments, work.batch_index) + offset_a(arguments, work.m0, work.k0),
      arguments.lda * kElementBytes, arguments.m - work.m0);
  loader.b = begin_copies(
      kTileB, matrix_b(arguments, work.batch_index) + offset_b(arguments, work.k0, work.n0),
      arguments.ldb * kElementBytes, arguments.n - work.n0);
  loader.tiles_left = work.k_tiles;
  loader.last_k = work.last_k;
  loader.stage = pipeline;
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

__device__ __forceinline__ char* next_stage(char* pipeline, char* stage) {
  return stage == pipeline + (kStages - 1) * kStageBytes ? pipeline : stage + kStageBytes;
}

__device__ __forceinline__ void next_tile(Loader& loader, char* pipeline) {
  --loader.tiles_left;
  loader.stage = next_stage(pipeline, loader.stage);
}

// -- consumer: a warp multiplies --

// Where the warp tile begins in the CTA's tile.
struct WarpOrigin {
  int m, n;
};
__device__ __forceinline__ WarpOrigin origin_of_warp() {
  const int warp = threadIdx.x / 32, warps_n = kBlockN / kWarpN;
  return {warp / warps_n * kWarpM, warp % warps_n * kWarpN};
}

// What a warp multiplies in one step, as it lies in shared memory, in blocks of 16 by 8 registers.
constexpr int kBlocksM = kWarpM / 16, kBlocksN = kWarpN / 16;
constexpr int kBlocksPerStep = kEmulates ? 2 : 1;
using Register = decltype(register_type(Accumulator()));

struct Fragments {
  Register a[kBlocksM][kBlocksPerStep][4];
  Register b[kBlocksN][kBlocksPerStep][4];
};

__device__ __forceinline__ void load_fragments(const char* stage, const WarpOrigin& origin,
                                               int step, Fragments& fragments) {
#pragma unroll
  for (int block = 0; block < kBlocksPerStep; ++block) {
    const int first_k = step * kStepBytes / sizeof(Register) + block * 8;
#pragma unroll
    for (int m = 0; m < kBlocksM; ++m) {
      load_block(kTileA, RegisterOrder::kRowsFirst, stage, origin.m, m * 16, first_k,
                 fragments.a[m][block]);
    }
#pragma unroll
    for (int n = 0; n < kBlocksN; ++n) {
      load_block(kTileB, RegisterOrder::kKFirst, stage + kBytesOfTileA, origin.n, n * 16, first_k,
                 fragments.b[n][block]);
    }
  }
}

// The factors that prepare() makes of a step's blocks, and which of A's meets which of B's.
constexpr int kFactors = kEmulates ? 3 : kWidens ? 2 : 1;
constexpr int kProductCount = kEmulates ? 6 : kFactors;
using FactorA = decltype(factor_type(TypeA(), *static_cast<const char (*)[kFactors]>(nullptr)));
using FactorB = decltype(factor_type(TypeB(), *static_cast<const char (*)[kFactors]>(nullptr)));

struct Product {
  int a, b;
};
__device__ __forceinline__ constexpr Product product_at(int index) {
  constexpr Product emulated[6] = {{2, 0}, {0, 2}, {1, 1}, {1, 0}, {0, 1}, {0, 0}};
  return kEmulates ? emulated[index] : Product{index, index};
}

// 16 x 8 accumulators: `half` tells which 8 of B's 16 columns.
__device__ __forceinline__ void multiply_factors(const Register (&a)[kFactors][4],
                                                 const Register (&b)[kFactors][4], int half,
                                                 Accumulator (&accumulators)[4]) {
#pragma unroll
  for (int index = 0; index < kProductCount; ++index) {
    const Product product = product_at(index);
    const Register columns[2] = {b[product.b][2 * half], b[product.b][2 * half + 1]};
    Mma<FactorA, FactorB>::mma_sync(a[product.a], columns, accumulators);
  }
}

using Accumulators = Accumulator[kBlocksM][2 * kBlocksN][4];

// If there are registers for it, the fragments of the next step are loaded while this one's are
// multiplied.
constexpr int kBuffers = kShape.has_two_buffers() ? 2 : 1;
static_assert(sizeof(Accumulators) / 4 == kShape.accumulator_registers() &&
                  sizeof(Fragments) / 4 == kShape.fragment_registers(),
              "shape.h must count the registers that are declared here");

// Neighbouring instructions share A's four registers, back and forth along n. That is faster than
// sharing B's two: fewer registers are read (LABBOOK.md).
__device__ __forceinline__ void multiply(const Fragments& fragments, Accumulators& accumulators) {
  Register a[kFactors][4], b[kBlocksN][kFactors][4];
#pragma unroll
  for (int n = 0; n < kBlocksN; ++n) {
    prepare(TypeB(), RegisterOrder::kKFirst, fragments.b[n], b[n]);
  }
#pragma unroll
  for (int m = 0; m < kBlocksM; ++m) {
    prepare(TypeA(), RegisterOrder::kRowsFirst, fragments.a[m], a);
#pragma unroll
    for (int index = 0; index < 2 * kBlocksN; ++index) {
      const int n = m % 2 == 0 ? index : 2 * kBlocksN - 1 - index;
      if (!kEmulates) {
        multiply_factors(a, b[n / 2], n % 2, accumulators[m][n]);
        continue;
      }
      Accumulator fresh[4] = {};
      multiply_factors(a, b[n / 2], n % 2, fresh);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        add(fresh[i], accumulators[m][n][i]);
      }
    }
  }
}

// ---- 5. Epilogue --------------------------------------------------------------------------------
// With split_k > 1: stores this CTA's partial tile. In the CTA that comes last, the accumulators
// become those of all slices, added in the order of the slices, and true is returned. A thread has
// `count` accumulators, a multiple of kVectorElements. The vectors of the threads lie side by side
// in a partial tile. `shared` is as for arrives_last.
__device__ __forceinline__ bool add_slices(const Arguments& arguments, long long tile, int slice,
                                           const ThreadGroup& group, Accumulator* accumulators,
                                           int count, int* shared) {
  const auto partial_vector = [&](int partial_slice, int first) {
    Accumulator* const partial =
        partial_tile(arguments, tile, partial_slice, kSplitK, group.threads * count);
    return reinterpret_cast<AccumulatorVector*>(partial) + first / kVectorElements * group.threads +
           group.thread;
  };
#pragma unroll
  for (int first = 0; first < count; first += kVectorElements) {
    AccumulatorVector vector;
#pragma unroll
    for (int i = 0; i < kVectorElements; ++i) {
      vector.element[i] = accumulators[first + i];
    }
    *partial_vector(slice, first) = vector;
  }
  if (!arrives_last(arguments, tile, kSplitK, group, shared)) {
    return false;
  }
#pragma unroll
  for (int i = 0; i < count; ++i) {
    accumulators[i] = 0;
  }
#pragma unroll 1
  for (int partial_slice = 0; partial_slice < kSplitK; ++partial_slice) {
#pragma unroll
    for (int first = 0; first < count; first += kVectorElements) {
      const AccumulatorVector vector = *partial_vector(partial_slice, first);
#pragma unroll
      for (int i = 0; i < kVectorElements; ++i) {
        add(vector.element[i], accumulators[first + i]);
      }
    }
  }
  sync(group);  // before `shared` is used for something else
  return true;
}

constexpr int kEpiloguePitch = kShape.epilogue_pitch();
constexpr int kEpilogueBytes = kShape.epilogue_bytes_of_warp();
constexpr int kVectorsOfRow = kWarpN / kVectorElements;

// 16 rows of the warp's accumulators after the other go through its part of shared memory.
__device__ __forceinline__ void store(const Arguments& arguments, const WorkTile& work,
                                      const WarpOrigin& origin, const Accumulators& accumulators,
                                      char* shared) {
  const Epilogue epilogue = begin_epilogue(arguments, work.batch_index);
  constexpr FragmentOrder kOrder{.rows_alternate = rows_alternate(kTileA),
                                 .columns_alternate = rows_alternate(kTileB)};
  const OutputMatrix output{arguments, epilogue, work.batch_index};
  auto* const rows = reinterpret_cast<Accumulator*>(shared + threadIdx.x / 32 * kEpilogueBytes);
#pragma unroll
  for (int m = 0; m < kBlocksM; ++m) {
#pragma unroll
    for (int n = 0; n < kBlocksN; ++n) {
      fragments_to_shared<kEpiloguePitch, kOrder>(accumulators[m][2 * n],
                                                  accumulators[m][2 * n + 1], rows + n * 16);
    }
    __syncwarp();
#pragma unroll 1
    for (int vector = threadIdx.x % 32; vector < mma::kEpilogueRows * kVectorsOfRow; vector += 32) {
      const int row = vector / kVectorsOfRow, column = vector % kVectorsOfRow * kVectorElements;
      output.store_vector(
          *reinterpret_cast<const AccumulatorVector*>(rows + row * kEpiloguePitch + column),
          work.m0 + origin.m + m * 16 + row, work.n0 + origin.n + column);
    }
    __syncwarp();
  }
}

// ---- 6. Entry -----------------------------------------------------------------------------------
extern "C" __global__ void __launch_bounds__(kThreads, 1)
    tunedgemm_mma(const __grid_constant__ Arguments arguments) {
  extern __shared__ __align__(128) char shared[];
  const WorkTile work = work_tile_of_cta(arguments);
  const WarpOrigin origin = origin_of_warp();
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

  Accumulators accumulators = {};
  Fragments fragments[kBuffers];
  char* stage = shared;
  load_fragments(stage, origin, 0, fragments[0]);
  for (int tile = 0; tile < work.k_tiles; ++tile) {
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
        load_fragments(stage, origin, (step + 1) % kSteps, fragments[(step + 1) % 2]);
      }
      multiply(fragments[step % kBuffers], accumulators);
      if (kBuffers == 1) {
        load_fragments(stage, origin, (step + 1) % kSteps, fragments[0]);
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
      add_slices(arguments, work.tile, work.slice,
                 ThreadGroup{static_cast<int>(threadIdx.x), kThreads, 0}, &accumulators[0][0][0],
                 sizeof(accumulators) / sizeof(Accumulator), reinterpret_cast<int*>(shared))) {
    store(arguments, work, origin, accumulators, shared);
  }
}
