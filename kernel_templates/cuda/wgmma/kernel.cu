// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        on Hopper's tensor cores (sm_90a)
//
// Read mma/kernel.cu first. New here: the threads neither copy nor hold operands. One of them, the
// producer, asks the tensor memory accelerator for tiles (ptx/tensor_copy.cuh); a warpgroup, four
// warps, multiplies tiles where they lie, in shared memory (ptx/wgmma.cuh); and barriers that count
// bytes and arrivals (ptx/mbarrier.cuh) are all that goes between them. The kernel is persistent
// and warp-specialised: a CTA computes one tile of D after the other, and while the accumulators of
// one are stored, the operands of the next are already being copied.
//
//    producer, 1 thread          full[s]: the tile is there         consumers, 1 to 3 warpgroups
//   +---------------------+     +---+---+---+---+  stages tiles    +------------------------------+
//   | wait for empty[s]   | TMA | s | s | s | s |  of A and B      | wait for full[s]             |
//   | load A and B into s | --> |   |   |   |   | ---------------> | accumulators += A * B from s |
//   | s = next stage      |     +---+---+---+---+                  | arrive at empty[s]           |
//   +---------------------+     empty[s]: it has been multiplied   | after the last k: epilogue   |
//                                                                  +------------------------------+
//
// Consumers either share a tile, block_m / consumers rows each (cooperative), or compute tiles
// alternately (ping_pong): then one multiplies while the other stores. A cooperative one of several
// row blocks of 64 stores some while it multiplies others. CTAs may form a cluster: cluster_m of
// them below each other share B, each loading a part of it for all (multicast), and cluster_n of
// them beside each other share A. Work tiles go to clusters in the order of the cluster ids of the
// launch, or (gpc_aware) so that clusters of one GPC have neighbouring ones. What is not read again
// soon may leave the L2 cache before the rest (evict_first).
//
// How D is stored (tensor_store): converted, arranged in shared memory and copied out by TMA, in
// blocks of 16 columns, while the next tile is being multiplied; or by the threads, as in mma.
// Where the host has exchanged A and B (swap_ab), D is column-major here, and its columns are
// stored.
//
// How types are multiplied: f16, bf16, s8 and fp8 as they are; f32 as tf32, which TMA rounds to.
// fp8 accumulates in the tensor cores (NUMERICS 3, fast), or in f32 after each tile along K (4,
// promoted). wgmma takes operands of 8 and 32 bits K-major only. Where they are MN-major, the
// consumers read an A of 32 bits into registers themselves, and the other warps of the producer's
// warpgroup transpose the rest in shared memory (transpose.cuh).
//
// What TMA can copy: rows that are aligned to 16 bytes. Operands whose rows are not are copied to
// the workspace by a kernel of their own before this one, their rows padded (pad.cuh).
//
// Cost: stages * block_k * (block_m + block_n) elements and 2 KiB * epilogue_stages a consumer warp
// of shared memory; block_m * block_n / (128 * consumers) accumulators a thread (ping_pong: 128;
// promoted: and block_n / 2 more), so one CTA an SM: occupancy is traded for register tiles.
//
//   nvcc -std=c++20 -arch=sm_90a -cubin kernel_templates/cuda/wgmma/kernel.cu

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
#define BLOCK_M 128  // rows of a tile of D
#endif
#ifndef BLOCK_N
#define BLOCK_N 256  // columns of it
#endif
#ifndef BLOCK_K
#define BLOCK_K 64  // a tile along K
#endif
#ifndef STAGES
#define STAGES 4  // tiles of A and B in shared memory
#endif
#ifndef EPILOGUE_STAGES
#define EPILOGUE_STAGES 2  // buffers in which a warp prepares what it stores
#endif
#ifndef CONSUMERS
#define CONSUMERS 2  // warpgroups that multiply
#endif
#ifndef PING_PONG
#define PING_PONG 0  // 0: consumers share a tile; 1: they compute tiles alternately
#endif
#ifndef CLUSTER_M
#define CLUSTER_M 2  // CTAs below each other that share B
#endif
#ifndef CLUSTER_N
#define CLUSTER_N 1  // CTAs beside each other that share A
#endif
#ifndef GROUP_M
#define GROUP_M 8  // rows of (clusters of) tiles in a rasterization group
#endif
#ifndef RASTER_ALONG_N
#define RASTER_ALONG_N 0  // 1: groups are of columns of tiles
#endif
#ifndef GPC_AWARE
#define GPC_AWARE 0  // 1: neighbouring tiles go to SMs of one GPC
#endif
#ifndef EVICT_FIRST
#define EVICT_FIRST \
  0  // 1: D and the streamed operand, A or B, leave the L2 cache first; 2: the latter
#endif
#ifndef SPLIT_K
#define SPLIT_K 1  // slices of K
#endif
#ifndef IN_FLIGHT
#define IN_FLIGHT 1  // tiles along K whose wgmma still runs when that of the next one is begun
#endif
#ifndef TENSOR_STORE
#define TENSOR_STORE 1  // 0: threads store D; 1: TMA does
#endif
#ifndef SWAP_AB
#define SWAP_AB 0  // 1: what is computed here is the transpose of what is asked
#endif
#ifndef PREFETCH
#define PREFETCH 0  // tiles along K brought into the L2 cache before the inputs may be read
#endif

#include "shape.h"
constexpr wgmma::Shape kShape{.block_m = BLOCK_M,
                              .block_n = BLOCK_N,
                              .block_k = BLOCK_K,
                              .stages = STAGES,
                              .epilogue_stages = EPILOGUE_STAGES,
                              .consumers = CONSUMERS,
                              .ping_pong = PING_PONG != 0,
                              .cluster_m = CLUSTER_M,
                              .cluster_n = CLUSTER_N,
                              .split_k = SPLIT_K,
                              .in_flight = IN_FLIGHT,
                              .tensor_store = TENSOR_STORE != 0,
                              .swap_ab = SWAP_AB != 0,
                              .element_bytes = sizeof(TypeA),
                              .element_bytes_d = sizeof(TypeD),
                              .a_is_k_major = kOrderA == Order::kRowMajor,
                              .b_is_k_major = kOrderB == Order::kColumnMajor,
                              .accumulates_integers = kAccumulatorIsInteger,
                              .promotes = kNumerics == Numerics::kPromoted,
                              .adds_operand = kReadC || kBias != Bias::kNone};
constexpr int kGroupM = GROUP_M, kPrefetch = PREFETCH;
constexpr bool kRasterAlongN = RASTER_ALONG_N != 0;
constexpr bool kGpcAware = GPC_AWARE != 0;
constexpr int kEvictFirst = EVICT_FIRST;
#ifndef THREADS
#define THREADS kShape.threads()
#endif
#ifndef SHARED_BYTES
#define SHARED_BYTES kShape.shared_bytes()
#endif

// ---- 3. What must hold --------------------------------------------------------------------------
static_assert(sizeof(TypeA) == sizeof(TypeB), "A and B must have elements of one size");
static_assert(kShape.cluster_fits(), "cluster_m times cluster_n must be 1, 2 or 4");
static_assert(kShape.consumers >= 1 && kShape.consumers <= 3, "consumers must be 1, 2 or 3");
static_assert(kShape.ping_pong_fits(), "ping_pong=1 takes consumers=2");
static_assert(kShape.rows_fit(),
              "block_m must be 64 rows for each consumer, or a multiple of that");
static_assert(kShape.width_fits(),
              "block_n must be a multiple of 8, some types of 16, from 16 to 256");
static_assert(kShape.multicast_fits(),
              "each of the cluster_m CTAs must load a multiple of 8 columns of B");
static_assert(kShape.block_k_fits(), "block_k must be 128 or 256 bytes");
static_assert(kShape.block_k_fits_order(),
              "block_k must be 128 bytes where wgmma cannot take a tile as it is loaded");
static_assert(!kShape.tensor_store || kAlignD >= wgmma::kTmaAlignment,
              "tensor_store=1 needs rows of D aligned to 16 bytes");
static_assert(!kShape.tensor_store || !traits(kActivation).is_long,
              "long activations need the rolled loop of tensor_store=0");
static_assert(kShape.swap_fits(), "swap_ab=1 needs tensor_store=1: threads store rows of D");
static_assert(kShape.stages >= 2 && kShape.stages <= 16, "stages must be 2 to 16");
static_assert(kShape.epilogue_stages_fit(), "epilogue_stages must be 2, or 1 with tensor_store=1");
static_assert(kShape.in_flight == 0 || kShape.in_flight == 1, "in_flight must be 0 or 1");
static_assert(kShape.in_flight_fits_promotion(), "promoted accumulators need in_flight=0");
static_assert(kShape.in_flight_fits_registers(), "an MN-major A of 32 bits needs in_flight=1");
static_assert(kGroupM >= 1 && kShape.split_k >= 1, "group_m and split_k must be 1 or more");
static_assert(kPrefetch >= 0, "prefetch must be 0 or more");
static_assert(kShape.accumulators_fit(),
              "block_m * block_n needs too many accumulators a thread: make the tile smaller");
static_assert(kShape.registers_fit(),
              "consumers would wait forever for registers that nobody releases");
static_assert(THREADS == kShape.threads(), "THREADS must be 128 a warpgroup");
static_assert(
    SHARED_BYTES == kShape.shared_bytes(),
    "SHARED_BYTES must be stages * block_k * (block_m + block_n) elements (MN-major: whole "
    "128 bytes of them), 8 KiB * epilogue_stages a consumer and 1 KiB");

// What follows from the knobs, by the names that are used below.
constexpr int kBlockM = kShape.block_m, kBlockN = kShape.block_n, kBlockK = kShape.block_k;
constexpr int kStages = kShape.stages, kEpilogueStages = kShape.epilogue_stages;
constexpr int kConsumers = kShape.consumers;
constexpr bool kPingPong = kShape.ping_pong;
constexpr int kClusterM = kShape.cluster_m, kClusterN = kShape.cluster_n;
constexpr int kClusterSize = kShape.cluster_size();
constexpr int kSplitK = kShape.split_k, kInFlight = kShape.in_flight;
constexpr bool kTensorStore = kShape.tensor_store, kSwapAB = kShape.swap_ab;
constexpr int kThreads = THREADS;
constexpr int kRows = kShape.rows_of_consumer(), kRowBlocks = kShape.row_blocks();
constexpr bool kPromotes = kShape.promotes, kAFromRegisters = kShape.a_from_registers();
constexpr bool kTransposesA = kShape.transposes_a(), kTransposesB = kShape.transposes_b();
constexpr bool kTransposes = kTransposesA || kTransposesB;
// As TMA loads the tiles, and as wgmma takes them.
constexpr wgmma::SharedTile kLoadedA = kShape.loaded_tile_a(), kLoadedB = kShape.loaded_tile_b();
constexpr wgmma::SharedTile kTileA = kShape.tile_a(), kTileB = kShape.tile_b();
constexpr int kTileBytesA = tile_bytes(kTileA), kTileBytesB = tile_bytes(kTileB);
constexpr int kSharedBytes = kShape.shared_bytes(), kControlBytes = wgmma::kControlBytes;

#include "../common/rasterization.cuh"
#include "../common/split_k_reduction.cuh"
#include "../common/store.cuh"
#include "../ptx/data_movement.cuh"
#include "../ptx/mbarrier.cuh"
#include "../ptx/synchronization.cuh"
#include "../ptx/tensor_copy.cuh"
#include "../ptx/warpgroup.cuh"
#include "../ptx/wgmma.cuh"
#include "claim_cluster_id.cuh"
#include "pad.cuh"
#include "shared_tile.cuh"
#include "stmatrix.cuh"
#include "transpose.cuh"

DEFINE_WGMMA(BLOCK_N, ORDER_A, NOT_OF(ORDER_B))  // row-major A and column-major B are K-major

// ---- 4. Mainloop --------------------------------------------------------------------------------
// ---- 4.1 Tile scheduler -------------------------------------------------------------------------
// The persistent CTAs compute one work tile after the other: a slice of K of one tile of D. CTAs of
// a cluster compute neighbouring tiles at the same time.

// Where a CTA is in its cluster, cluster_m rows of CTAs and cluster_n columns.
struct ClusterCoordinate {
  int rank, m, n;
};
__device__ __forceinline__ ClusterCoordinate cluster_coordinate() {
  const int rank = kClusterSize == 1 ? 0 : cta_rank_in_cluster();
  return {rank, rank % kClusterM, rank / kClusterM};
}
// The CTAs of its row, which share A, and of its column, which share B.
__device__ __forceinline__ unsigned short multicast_mask_a(const ClusterCoordinate& cta) {
  unsigned mask = 0;
  for (int n = 0; n < kClusterN; ++n) {
    mask |= 1u << (cta.m + n * kClusterM);
  }
  return static_cast<unsigned short>(mask);
}
__device__ __forceinline__ unsigned short multicast_mask_b(const ClusterCoordinate& cta) {
  return static_cast<unsigned short>(((1u << kClusterM) - 1) << (cta.n * kClusterM));
}

struct WorkTile {
  int entry;       // of the batch
  int slice;       // of K
  long long tile;  // counted over the whole batch
  int m0, n0;
  int first_k, tiles_of_k;
};
// Tiles do not reach beyond D where it can be avoided (common/rasterization.cuh): TMA copies of
// boxes that reach beyond a matrix are slow.
struct TileScheduler {
  ClusterCoordinate cta;
  int first, stride;           // the work tiles of this cluster: first, first + stride, ...
  int clusters_m, clusters_n;  // clusters of tiles
  int last_m0, last_n0;        // where a tile that ends with D begins
  int tiles_of_k;
  int count;  // of all work tiles, over the batch and the slices of K
};
constexpr int kNoLimit = 0x7fffffff;
__device__ __forceinline__ int tiles_along(long long extent, int block) {
  return static_cast<int>((extent + block - 1) / block);
}
__device__ __forceinline__ TileScheduler make_tile_scheduler(const Arguments& arguments) {
  constexpr int step_m = kShape.origin_step_m(), step_n = kShape.origin_step_n();
  TileScheduler scheduler;
  scheduler.cta = cluster_coordinate();
  scheduler.first = blockIdx.x / kClusterSize;
  scheduler.stride = gridDim.x / kClusterSize;
  scheduler.clusters_m = tiles_along(arguments.m, kBlockM * kClusterM);
  scheduler.clusters_n = tiles_along(arguments.n, kBlockN * kClusterN);
  const bool is_in_place = kReadC && arguments.c == arguments.d;
  scheduler.last_m0 =
      is_in_place ? kNoLimit : static_cast<int>(last_origin(arguments.m, kBlockM, step_m));
  scheduler.last_n0 =
      is_in_place ? kNoLimit : static_cast<int>(last_origin(arguments.n, kBlockN, step_n));
  scheduler.tiles_of_k = tiles_along(arguments.k, kBlockK);
  scheduler.count =
      scheduler.clusters_m * scheduler.clusters_n * kSplitK * static_cast<int>(arguments.batch);
  return scheduler;
}
// Along K.
__device__ __forceinline__ int first_tile_of_slice(const TileScheduler& scheduler, int slice) {
  return static_cast<int>(static_cast<long long>(scheduler.tiles_of_k) * slice / kSplitK);
}
__device__ __forceinline__ WorkTile work_tile_at(const TileScheduler& scheduler, int index) {
  const int clusters = scheduler.clusters_m * scheduler.clusters_n;
  const int in_entry = index % clusters, slice_of_entry = index / clusters;
  TileCoordinate at;
  if (kRasterAlongN) {
    const TileCoordinate transposed =
        tile_at(in_entry, scheduler.clusters_n, scheduler.clusters_m, kGroupM);
    at = {transposed.tile_n, transposed.tile_m};
  } else {
    at = tile_at(in_entry, scheduler.clusters_m, scheduler.clusters_n, kGroupM);
  }
  const ClusterCoordinate& cta = scheduler.cta;
  WorkTile work;
  work.slice = slice_of_entry % kSplitK;
  work.entry = slice_of_entry / kSplitK;
  work.tile = (static_cast<long long>(work.entry) * clusters + in_entry) * kClusterSize + cta.rank;
  work.m0 = min((at.tile_m * kClusterM + cta.m) * kBlockM, scheduler.last_m0);
  work.n0 = min((at.tile_n * kClusterN + cta.n) * kBlockN, scheduler.last_n0);
  work.first_k = first_tile_of_slice(scheduler, work.slice);
  work.tiles_of_k = first_tile_of_slice(scheduler, work.slice + 1) - work.first_k;
  return work;
}

// ---- 4.2 Pipeline -------------------------------------------------------------------------------
// The producer and the consumers pass through the stages in the same order. Each stage has three
// barriers: loaded (TMA has written its tiles, some of which are still to be transposed), full
// (they can be multiplied) and empty (they have been).
//
//   shared memory:  stages of A | stages of B | epilogue stages of every consumer warp | barriers,
//                                                                        split-K ints, cluster id
struct PipelineState {
  int stage = 0;
  unsigned phase = 0;  // its parity
};
__device__ __forceinline__ int stage_before(const PipelineState& state) {
  return state.stage == 0 ? kStages - 1 : state.stage - 1;
}
__device__ __forceinline__ void advance(PipelineState& state) {
  if (++state.stage == kStages) {
    state = {0, state.phase ^ 1};
  }
}
__device__ __forceinline__ void advance(PipelineState& state, int tiles) {
  const int stage = state.stage + tiles;
  state = {stage % kStages, state.phase ^ (stage / kStages & 1)};
}

// Shared memory, by addresses.
struct SharedMemory {
  unsigned base;
};
__device__ __forceinline__ unsigned tile_a(const SharedMemory& shared, int stage) {
  return shared.base + stage * kTileBytesA;
}
__device__ __forceinline__ unsigned tile_b(const SharedMemory& shared, int stage) {
  return shared.base + kStages * kTileBytesA + stage * kTileBytesB;
}
__device__ __forceinline__ unsigned full_barrier(const SharedMemory& shared, int stage) {
  return shared.base + kSharedBytes - kControlBytes + stage * kBarrierBytes;
}
__device__ __forceinline__ unsigned empty_barrier(const SharedMemory& shared, int stage) {
  return full_barrier(shared, kStages + stage);
}
__device__ __forceinline__ unsigned loaded_barrier(const SharedMemory& shared, int stage) {
  return full_barrier(shared, 2 * kStages + stage);
}
// For the claimed cluster id (gpc_aware).
__device__ __forceinline__ unsigned cluster_id_barrier(const SharedMemory& shared) {
  return full_barrier(shared, 3 * kStages);
}
__device__ __forceinline__ unsigned cluster_id_address(const SharedMemory& shared) {
  return full_barrier(shared, 3 * kStages + 1);
}

__device__ __forceinline__ void init_barriers(const SharedMemory& shared) {
  // The warps that multiply, of the CTAs that load something for this one.
  constexpr int readers = 4 * kShape.consumers_of_tile() * (kClusterM + kClusterN - 1);
  for (int stage = 0; stage < kStages; ++stage) {
    init_barrier(full_barrier(shared, stage), kTransposes ? wgmma::kTransposeWarps : 1);
    init_barrier(loaded_barrier(shared, stage), 1);
    init_barrier(empty_barrier(shared, stage), readers);
  }
  if (kGpcAware && kClusterSize > 1) {
    init_barrier(cluster_id_barrier(shared), 1);
    arrive_expect_tx(cluster_id_barrier(shared), sizeof(int));
  }
  fence_barrier_init();
}

// Whom a warp tells that it has multiplied a stage: the CTAs of the cluster that load something for
// this one, each told by one lane.
struct StageRelease {
  unsigned empty;  // the barrier of stage 0; 0: this lane tells nobody
};
__device__ __forceinline__ StageRelease stage_release_of_lane(const SharedMemory& shared,
                                                              const ClusterCoordinate& cta) {
  const int lane = threadIdx.x % 32;
  const bool tells =
      lane < kClusterSize && (lane % kClusterM == cta.m || lane / kClusterM == cta.n);
  return {tells ? address_in_cta(empty_barrier(shared, 0), lane) : 0};
}
__device__ __forceinline__ void release(const StageRelease& release, int stage) {
  if (release.empty != 0) {
    arrive_remote(release.empty + stage * kBarrierBytes);
  }
}

// ---- 4.3 Producer -------------------------------------------------------------------------------
// Rows of tiles in a rasterization group keep their part of A in the L2 cache, and all of B is
// streamed; groups of columns (raster_along_n) keep theirs of B. What is streamed is not read again
// before it has left the cache, nor is a large D, where TMA stores it.
TUNEDGEMM_CONSTEXPR EvictionPriority eviction_if(bool is_first) {
  return is_first ? EvictionPriority::kFirst : EvictionPriority::kNormal;
}
constexpr EvictionPriority kEvictionA = eviction_if(kEvictFirst >= 1 && kRasterAlongN);
constexpr EvictionPriority kEvictionB = eviction_if(kEvictFirst >= 1 && !kRasterAlongN);
constexpr EvictionPriority kEvictionD = eviction_if(kEvictFirst == 1);

// One thread: every tile of A and B that this CTA multiplies, in order.
__device__ __forceinline__ void produce(const Arguments& arguments, const TensorMap& a,
                                        const TensorMap& b, const SharedMemory& shared,
                                        const TileScheduler& scheduler) {
  const ClusterCoordinate& cta = scheduler.cta;
  const CacheHint hint_a = make_cache_hint(kEvictionA), hint_b = make_cache_hint(kEvictionB);
  PipelineState state;
  for (int index = scheduler.first; index < scheduler.count; index += scheduler.stride) {
    const WorkTile work = work_tile_at(scheduler, index);
    const int entry_a = arguments.batch_stride_a == 0 ? 0 : work.entry;
    const int entry_b = arguments.batch_stride_b == 0 ? 0 : work.entry;
#pragma unroll 1
    for (int tile = 0; tile < work.tiles_of_k; ++tile) {
      const int k0 = (work.first_k + tile) * kBlockK;
      const unsigned barrier =
          kTransposes ? loaded_barrier(shared, state.stage) : full_barrier(shared, state.stage);
      wait(empty_barrier(shared, state.stage), state.phase ^ 1);
      arrive_expect_tx(barrier, kTileBytesA + kTileBytesB);
      load_tile(kLoadedA, kClusterN, cta.n, multicast_mask_a(cta), a, tile_a(shared, state.stage),
                barrier, work.m0, k0, entry_a, hint_a);
      load_tile(kLoadedB, kClusterM, cta.m, multicast_mask_b(cta), b, tile_b(shared, state.stage),
                barrier, work.n0, k0, entry_b, hint_b);
      advance(state);
    }
  }
  // No CTA ends while another one of its cluster may still write to its memory or arrive there: all
  // that has been loaded must have been released.
  for (int stage = 0; kClusterSize > 1 && stage < kStages; ++stage) {
    wait(empty_barrier(shared, state.stage), state.phase ^ 1);
    advance(state);
  }
}

// One thread, before the kernel may read its inputs: brings to the L2 cache what falls to this CTA
// of the first kPrefetch tiles along K of every slice (where a slice has fewer, of what follows
// it), of A and B, entry 0. Should the kernels before it still write there, the L2 cache sees that.
constexpr int kPrefetchWarp = 2;  // one that has nothing else to do yet
__device__ __forceinline__ void prefetch_operands(const Arguments& arguments, const TensorMap& a,
                                                  const TensorMap& b,
                                                  const TileScheduler& scheduler) {
  constexpr int kTiles = kPrefetch > 0 ? kPrefetch : 1;  // a divisor also where this is not called
  constexpr int kAlongK = kSplitK * kTiles;
  const int along_m = tiles_along(arguments.m, kBlockM),
            along_n = tiles_along(arguments.n, kBlockN);
  for (int index = blockIdx.x; index < (along_m + along_n) * kAlongK; index += gridDim.x) {
    const int tile = index / kAlongK, at_k = index % kAlongK;
    const int k0 = (first_tile_of_slice(scheduler, at_k / kTiles) + at_k % kTiles) * kBlockK;
    if (k0 >= arguments.k) {
      continue;
    }
    if (tile < along_m) {
      prefetch_tile(kLoadedA, kClusterN, a, tile * kBlockM, k0);
    } else {
      prefetch_tile(kLoadedB, kClusterM, b, (tile - along_m) * kBlockN, k0);
    }
  }
}

// ---- 4.4 Transpose warps ------------------------------------------------------------------------
// A warp's part of every tile that must be transposed.
__device__ __forceinline__ void transpose_tiles(const SharedMemory& shared,
                                                const TileScheduler& scheduler, int warp) {
  PipelineState state;
  for (int index = scheduler.first; index < scheduler.count; index += scheduler.stride) {
    const int tiles_of_k = work_tile_at(scheduler, index).tiles_of_k;
    for (int tile = 0; tile < tiles_of_k; ++tile) {
      wait(loaded_barrier(shared, state.stage), state.phase);
      if (kTransposesA) {
        transpose_tile(kLoadedA, tile_a(shared, state.stage), warp, wgmma::kTransposeWarps);
      }
      if (kTransposesB) {
        transpose_tile(kLoadedB, tile_b(shared, state.stage), warp, wgmma::kTransposeWarps);
      }
      fence_async_proxy();
      __syncwarp();
      if (threadIdx.x % 32 == 0) {
        arrive(full_barrier(shared, state.stage));
      }
      advance(state);
    }
  }
}

// ---- 4.5 Consumers ------------------------------------------------------------------------------
// A consumer's accumulators: of each of its row blocks, 64 rows of D (ptx/wgmma.cuh has the
// layout).
constexpr int kAccumulatorsOfRowBlock = kBlockN / 2;  // a thread's
using RowBlockAccumulators = Accumulator[kAccumulatorsOfRowBlock];
using Accumulators = RowBlockAccumulators[kRowBlocks];
constexpr int kSteps = kShape.bytes_along_k() / wgmma::kStepBytes;  // of a tile along K

__device__ __forceinline__ void clear(Accumulators& accumulators) {
#pragma unroll
  for (int i = 0; i < kRowBlocks * kAccumulatorsOfRowBlock; ++i) {
    accumulators[i / kAccumulatorsOfRowBlock][i % kAccumulatorsOfRowBlock] = 0;
  }
}
__device__ __forceinline__ void fence_row_blocks(int first, int end, Accumulators& accumulators) {
#pragma unroll
  for (int block = first; block < end; ++block) {
    fence_registers(accumulators[block]);
  }
}
__device__ __forceinline__ void fence_accumulators(Accumulators& accumulators) {
  fence_row_blocks(0, kRowBlocks, accumulators);
}

// Where descriptors find the tiles of a stage.
__device__ __forceinline__ unsigned descriptor_address_a(const SharedMemory& shared, int stage) {
  return descriptor_address(tile_a(shared, 0)) + stage * (kTileBytesA / 16);
}
__device__ __forceinline__ unsigned descriptor_address_b(const SharedMemory& shared, int stage) {
  return descriptor_address(tile_b(shared, 0)) + stage * (kTileBytesB / 16);
}

// One tile along K of one row block, whose rows begin at `row` of the tile.
__device__ __forceinline__ void multiply_row_block(const SharedMemory& shared, int stage, int row,
                                                   bool accumulate,
                                                   RowBlockAccumulators& accumulators) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    wgmma_mma_async(TypeA(), TypeB(), accumulate || step > 0,
                    descriptor(kTileA, descriptor_address_a(shared, stage), row, step),
                    descriptor(kTileB, descriptor_address_b(shared, stage), 0, step), accumulators);
  }
}
// Of the row blocks from `first` to `end`, `row` the first of the consumer's rows.
__device__ __forceinline__ void multiply_row_blocks(const SharedMemory& shared, int stage, int row,
                                                    bool accumulate, int first, int end,
                                                    Accumulators& accumulators) {
#pragma unroll
  for (int block = first; block < end; ++block) {
    multiply_row_block(shared, stage, row + wgmma::kRowBlock * block, accumulate,
                       accumulators[block]);
  }
}

// The accumulators of a work tile, from row `row` of it on. The wgmma of one tile along K still
// runs while that of the next one is begun, so a stage is released one tile later.
__device__ __forceinline__ void multiply(const SharedMemory& shared, const StageRelease& releases,
                                         const WorkTile& work, int row, PipelineState& state,
                                         Accumulators& accumulators) {
  int before = 0;
#pragma unroll 1
  for (int tile = 0; tile < work.tiles_of_k; ++tile) {
    wait(full_barrier(shared, state.stage), state.phase);
    fence_accumulators(accumulators);
    wgmma_fence();
    multiply_row_blocks(shared, state.stage, row, tile > 0, 0, kRowBlocks, accumulators);
    wgmma_commit_group();
    wgmma_wait_group(kInFlight);
    fence_accumulators(accumulators);
    if (kInFlight == 0) {
      release(releases, state.stage);
    } else if (tile > 0) {
      release(releases, before);
    }
    before = state.stage;
    advance(state);
  }
}

// The same where fp8 is promoted, since the tensor cores add fewer bits than f32 has: what they
// have accumulated is added to others after each tile along K.
__device__ __forceinline__ void multiply_promoted(const SharedMemory& shared,
                                                  const StageRelease& releases,
                                                  const WorkTile& work, int row,
                                                  PipelineState& state,
                                                  Accumulators& accumulators) {
  RowBlockAccumulators of_tile;
  for (int tile = 0; tile < work.tiles_of_k; ++tile) {
    wait(full_barrier(shared, state.stage), state.phase);
#pragma unroll
    for (int block = 0; block < kRowBlocks; ++block) {
      fence_registers(of_tile);
      wgmma_fence();
      multiply_row_block(shared, state.stage, row + wgmma::kRowBlock * block, false, of_tile);
      wgmma_commit_group();
      wgmma_wait_group(0);
      fence_registers(of_tile);
      if (block == kRowBlocks - 1) {
        release(releases, state.stage);
      }
#pragma unroll
      for (int i = 0; i < kAccumulatorsOfRowBlock; ++i) {
        accumulators[block][i] = (tile > 0 ? accumulators[block][i] : 0) + of_tile[i];
      }
    }
    advance(state);
  }
}

// An MN-major A of 32 bits, which wgmma does not take from shared memory, is read into registers.
// The offset in a tile at which a lane finds row 16 w + g of step 0: at k = t in lanes of even t,
// at k = t + 4 in the others, so that there are no bank conflicts. The other k is 4 further or
// nearer, the other row 8 further.
__device__ __forceinline__ unsigned fragment_offset_of_lane() {
  const int warp = threadIdx.x / 32 % 4, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const int row = 16 * warp + g, k = t ^ (t % 2 * 4);
  const unsigned atom_column = row / 32 * atom_column_bytes(kLoadedA);
  return chunk_address(atom_column, k, row % 32 / 4) + row % 4 * 4;
}
constexpr unsigned kOtherK = 4 * wgmma::kSwizzleBytes + 4 * 16;  // the row, and with it the swizzle
constexpr unsigned kOtherRow = 2 * 16;

__device__ __forceinline__ unsigned long long register_pair(unsigned low, unsigned high) {
  return low | static_cast<unsigned long long>(high) << 32;
}
__device__ __forceinline__ FragmentA load_fragment(unsigned tile, unsigned offset, int row,
                                                   int step) {
  const unsigned from =
      tile + row / 32 * atom_column_bytes(kLoadedA) + step * 8 * wgmma::kSwizzleBytes;
  const unsigned long long here =
      register_pair(load_shared(from + offset), load_shared(from + (offset ^ kOtherRow)));
  const unsigned long long there = register_pair(
      load_shared(from + (offset ^ kOtherK)), load_shared(from + (offset ^ kOtherK ^ kOtherRow)));
  return threadIdx.x % 2 == 0 ? FragmentA{{here, there}} : FragmentA{{there, here}};
}

using Fragments = FragmentA[kRowBlocks];
__device__ __forceinline__ void load_fragments(const SharedMemory& shared, int stage,
                                               unsigned offset, int row, int step,
                                               Fragments& fragments) {
#pragma unroll
  for (int block = 0; block < kRowBlocks; ++block) {
    fragments[block] =
        load_fragment(tile_a(shared, stage), offset, row + wgmma::kRowBlock * block, step);
  }
}

// The accumulators of a work tile, as in multiply(). The wgmma of one step still runs while that of
// the next one is begun and A is read for the one after: if it is read later, the compiler lets
// each wgmma wait for the one before.
__device__ __forceinline__ void multiply_from_registers(const SharedMemory& shared,
                                                        const StageRelease& releases,
                                                        const WorkTile& work, int row,
                                                        PipelineState& state,
                                                        Accumulators& accumulators) {
  float(&f32_accumulators)[kRowBlocks][kAccumulatorsOfRowBlock] =
      reinterpret_cast<float(&)[kRowBlocks][kAccumulatorsOfRowBlock]>(
          accumulators);  // they are, where this is used
  Fragments fragments[kSteps];
  const unsigned offset = fragment_offset_of_lane();
  clear(accumulators);
  wait(full_barrier(shared, state.stage), state.phase);
  load_fragments(shared, state.stage, offset, row, 0, fragments[0]);
#pragma unroll 1
  for (int tile = 0; tile < work.tiles_of_k; ++tile) {
    const int stage = state.stage, released = stage_before(state);
    advance(state);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step + 1 < kSteps) {
        load_fragments(shared, stage, offset, row, step + 1, fragments[step + 1]);
      } else if (tile + 1 < work.tiles_of_k) {
        wait(full_barrier(shared, state.stage), state.phase);
        load_fragments(shared, state.stage, offset, row, 0, fragments[0]);
      }
      fence_accumulators(accumulators);
      wgmma_fence();
#pragma unroll
      for (int block = 0; block < kRowBlocks; ++block) {
        wgmma_a_from_registers(f32(), f32(), fragments[step][block],
                               descriptor(kTileB, descriptor_address_b(shared, stage), 0, step),
                               f32_accumulators[block]);
      }
      wgmma_commit_group();
      wgmma_wait_group(1);
      fence_accumulators(accumulators);
      if (step == 0 && tile > 0) {
        release(releases, released);
      }
    }
  }
}

// When the accumulators are wanted: wgmma ends, and the last stage is released.
__device__ __forceinline__ void finish_multiplying(const StageRelease& releases,
                                                   const PipelineState& state,
                                                   Accumulators& accumulators) {
  if (kInFlight == 1) {
    wgmma_wait_group(0);
    fence_accumulators(accumulators);
    release(releases, stage_before(state));
  }
}

// ---- 5. Epilogue --------------------------------------------------------------------------------
// Of 64 rows of D, as many columns as are finished together: all of the tile or, where K is split,
// a reduction chunk. A warp has 16 of the rows.
constexpr int kChunkColumns = kShape.reduction_chunk_columns();
constexpr int kBlockColumns = kShape.columns_of_blocks();
using ChunkAccumulators = Accumulator[kChunkColumns / 2];  // a thread's

// D's elements are zero where there is no such element: its C and bias must not be read.
__device__ __forceinline__ TypeD finish_inside(const Arguments& arguments, const Epilogue& epilogue,
                                               Accumulator accumulator, long long m, long long n) {
  return kShape.adds_operand && (m >= arguments.m || n >= arguments.n)
             ? TypeD{}
             : finish(epilogue, accumulator, m, n);
}

// An optimization barrier: the compiler no longer knows what the number was made of. Otherwise it
// computes the addresses of all columns first, and the accumulators have to make room for them.
__device__ __forceinline__ void optimization_barrier(int& number) {
  asm volatile("" : "+r"(number));
}

// Where a warp prepares what TMA stores: in its epilogue stages, alternately.
struct EpilogueBuffer {
  unsigned address;
  int offset = 0;  // of the stage that is next
};
// The stage for the next `bytes`. Before it is written to, the thread that copies has to wait until
// what was there has been read: tma_store_wait_read(kEpilogueStages - 1).
__device__ __forceinline__ unsigned next_epilogue_stage(EpilogueBuffer& buffer, int bytes) {
  const unsigned stage = buffer.address + buffer.offset;
  buffer.offset = kEpilogueStages == 1 ? 0 : buffer.offset ^ bytes;
  return stage;
}

// ---- 5.1 Stores ---------------------------------------------------------------------------------
// A warp's 16 rows of the last 8 columns of a chunk, D[m, n] the first of them, straight from the
// registers. Where A and B have been exchanged, a row here is a column of what is asked.
__device__ __forceinline__ void store_left_over(const Arguments& arguments,
                                                const Epilogue& epilogue, long long entry, int m,
                                                int n, const ChunkAccumulators& accumulators) {
  const int lane = threadIdx.x % 32;
  TypeD* const d = batch_entry_d(arguments, entry);
#pragma unroll
  for (int i = 0; kBlockColumns + 2 * i < kChunkColumns; ++i) {
    const int row = m + lane / 4 + i / 2 * 8, column = n + lane % 4 * 2 + i % 2;
    if (row < arguments.m && column < arguments.n) {
      const long long offset =
          kSwapAB ? offset_d(arguments, column, row) : offset_d(arguments, row, column);
      d[offset] = finish(epilogue, accumulators[kBlockColumns / 2 + i], row, column);
    }
  }
}

// A box of D in shared memory: 16 rows of the widest swizzle span that fits. As many boxes are
// prepared together as an epilogue stage has room for.
constexpr int kRowBytes = kShape.epilogue_row_bytes();
constexpr int kRowColumns = kRowBytes / sizeof(TypeD);
constexpr int kBoxBytes = wgmma::kEpilogueRows * kRowBytes;
constexpr int kStageColumns = wgmma::kEpilogueStageBytes / kBoxBytes * kRowColumns;

// A warp's 16 rows from D[m, n0] on, by TMA, an epilogue stage at a time; where there are two, the
// copies of one are on their way while the other one is prepared. The thread that copies is told by
// its number and not elected: the compiler then makes a loop of the copy, beyond which it moves
// nothing. Otherwise it finishes all accumulators before the first ones are stored.
__device__ __forceinline__ void store_by_tma(const Arguments& arguments, const TensorMap& d,
                                             const Epilogue& epilogue, long long entry, int m,
                                             int n0, EpilogueBuffer& buffer,
                                             const ChunkAccumulators& accumulators) {
  const int lane = threadIdx.x % 32;
  int n = n0;
#pragma unroll
  for (int column = 0; column < kBlockColumns; column += kStageColumns) {
    const int columns = min(kStageColumns, kBlockColumns - column);
    const unsigned rows = next_epilogue_stage(buffer, wgmma::kEpilogueStageBytes);
    if (lane == 0) {
      tma_store_wait_read(kEpilogueStages - 1);
    }
    __syncwarp();
#pragma unroll
    for (int prepared = 0; prepared < columns; prepared += 16) {
      TypeD elements[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        elements[i] =
            finish_inside(arguments, epilogue, accumulators[(column + prepared) / 2 + i],
                          m + lane / 4 + i / 2 % 2 * 8, n + lane % 4 * 2 + i / 4 * 8 + i % 2);
      }
      store_block(rows + prepared / kRowColumns * kBoxBytes, kRowBytes, prepared % kRowColumns,
                  packed(elements));
      n += 16;
      optimization_barrier(n);
    }
    fence_async_proxy();
    __syncwarp();
    if (lane == 0) {
      const CacheHint hint = make_cache_hint(kEvictionD);
#pragma unroll
      for (int box = 0; box < columns; box += kRowColumns) {
        tma_store(d, rows + box / kRowColumns * kBoxBytes, n0 + column + box, m, entry, hint);
      }
      tma_store_commit();
    }
  }
  store_left_over(arguments, epilogue, entry, m, n0 + kBlockColumns, accumulators);
}

// A column-major D, which a row-major one is when A and B have been exchanged: a row in shared
// memory has 128 bytes of a column of D; as many of them side by side as it takes for 64 rows of D.
// One copy takes 16 columns. The four warps prepare columns together, in the epilogue stages of
// all.
constexpr int kRowsOfSpan = wgmma::kSwizzleBytes / sizeof(TypeD);
constexpr int kSpans = wgmma::kRowBlock / kRowsOfSpan;
constexpr int kColumnsOfCopy = wgmma::kEpilogueRows;
constexpr int kPreparedBytes = 4 * wgmma::kEpilogueStageBytes;
constexpr int kPreparedColumns = kPreparedBytes / (wgmma::kSwizzleBytes * kSpans);
constexpr int kSpanBytes = kPreparedColumns * wgmma::kSwizzleBytes;

// One thread: the columns that have been prepared, to D[m, n].
__device__ __forceinline__ void store_columns(const TensorMap& d, unsigned prepared, int m, int n,
                                              int columns, long long entry) {
  const CacheHint hint = make_cache_hint(kEvictionD);
#pragma unroll
  for (int column = 0; column < columns; column += kColumnsOfCopy) {
#pragma unroll
    for (int span = 0; span < kSpans; ++span) {
      tma_store(d, prepared + span * kSpanBytes + column * wgmma::kSwizzleBytes,
                m + span * kRowsOfSpan, n + column, static_cast<int>(entry), hint);
    }
  }
}
// The 64 rows of a warpgroup from D[m, n0] on; where there are two epilogue stages, a group of
// copies is on its way while the next columns are prepared.
__device__ __forceinline__ void store_transposed(const Arguments& arguments, const TensorMap& d,
                                                 const Epilogue& epilogue, long long entry, int m,
                                                 int n0, const ThreadGroup& group,
                                                 EpilogueBuffer& buffer,
                                                 const ChunkAccumulators& accumulators) {
  const int lane = group.thread % 32, first_row = group.thread / 32 * 16;
  int n = n0;
#pragma unroll
  for (int column = 0; column < kBlockColumns; column += kPreparedColumns) {
    const int columns = min(kPreparedColumns, kBlockColumns - column);
    const unsigned stage = next_epilogue_stage(buffer, kPreparedBytes);
    if (group.thread == 0) {
      tma_store_wait_read(kEpilogueStages - 1);
    }
    sync(group);
#pragma unroll
    for (int prepared = 0; prepared < columns; prepared += 16) {
      TypeD elements[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        elements[i] = finish_inside(arguments, epilogue, accumulators[(column + prepared) / 2 + i],
                                    m + first_row + lane / 4 + i / 2 % 2 * 8,
                                    n + lane % 4 * 2 + i / 4 * 8 + i % 2);
      }
      store_block_transposed(stage + first_row / kRowsOfSpan * kSpanBytes, prepared,
                             first_row % kRowsOfSpan, packed(elements));
      n += 16;
      optimization_barrier(n);
    }
    fence_async_proxy();
    sync(group);
    if (group.thread == 0) {
      store_columns(d, stage, m, n0 + column, columns, entry);
      tma_store_commit();
    }
  }
  store_left_over(arguments, epilogue, entry, m + first_row, n0 + kBlockColumns, accumulators);
}

// A warp's 16 rows from D[m, n0] on, by its threads, which can do everything.
constexpr int kSpreadColumns = kBlockColumns % 32 == 0 ? 32 : 16;
constexpr int kSpreadPitch = kSpreadColumns + 8;
__device__ __forceinline__ void store_by_threads(const Arguments& arguments,
                                                 const Epilogue& epilogue, long long entry, int m,
                                                 int n0, Accumulator* buffer,
                                                 const ChunkAccumulators& accumulators) {
  constexpr int vectors_a_row = kSpreadColumns / kVectorElements;
#pragma unroll
  for (int column = 0; column < kBlockColumns; column += kSpreadColumns) {
#pragma unroll
    for (int n = 0; n < kSpreadColumns; n += 16) {
      const int first = (column + n) / 2;
      const Accumulator left[4] = {accumulators[first], accumulators[first + 1],
                                   accumulators[first + 2], accumulators[first + 3]};
      const Accumulator right[4] = {accumulators[first + 4], accumulators[first + 5],
                                    accumulators[first + 6], accumulators[first + 7]};
      fragments_to_shared(left, right, false, false, buffer + n, kSpreadPitch);
    }
    __syncwarp();
    if constexpr (kStoresVectors) {
#pragma unroll 1
      for (int vector = threadIdx.x % 32; vector < 16 * vectors_a_row; vector += 32) {
        const int row = vector / vectors_a_row, n = vector % vectors_a_row * kVectorElements;
        store_vector(arguments, epilogue, entry,
                     *reinterpret_cast<const AccumulatorVector*>(buffer + row * kSpreadPitch + n),
                     m + row, n0 + column + n);
      }
    } else {
      store_elements<kSpreadColumns, kSpreadPitch>(arguments, epilogue, entry, buffer, m,
                                                   n0 + column);
    }
    __syncwarp();
  }
  store_left_over(arguments, epilogue, entry, m, n0 + kBlockColumns, accumulators);
}

__device__ __forceinline__ ThreadGroup thread_group_of_consumer(int consumer) {
  return {static_cast<int>(threadIdx.x) % kWarpgroup, kWarpgroup, 1 + consumer};
}

// A chunk of 64 rows, to D[m0, n0] on.
__device__ __forceinline__ void store_chunk(const Arguments& arguments, const TensorMap& d,
                                            const ThreadGroup& group, int entry, int m0, int n0,
                                            char* memory, EpilogueBuffer& buffer,
                                            const ChunkAccumulators& accumulators) {
  const Epilogue epilogue = begin_epilogue(arguments, entry);
  const int m = m0 + group.thread / 32 * 16;
  if (kSwapAB) {
    store_transposed(arguments, d, epilogue, entry, m0, n0, group, buffer, accumulators);
  } else if (kTensorStore) {
    store_by_tma(arguments, d, epilogue, entry, m, n0, buffer, accumulators);
  } else {
    store_by_threads(arguments, epilogue, entry, m, n0, reinterpret_cast<Accumulator*>(memory),
                     accumulators);
  }
}

// A row block of a consumer whose rows begin at m0 in D, where K is not split.
__device__ __forceinline__ void store_row_block(const Arguments& arguments, const TensorMap& d,
                                                const WorkTile& work, int m0, int block,
                                                int consumer, char* memory, EpilogueBuffer& buffer,
                                                const Accumulators& accumulators) {
  store_chunk(arguments, d, thread_group_of_consumer(consumer), work.entry,
              m0 + wgmma::kRowBlock * block, work.n0, memory, buffer,
              reinterpret_cast<const ChunkAccumulators&>(accumulators[block]));
}

// ---- 5.2 Split-K reduction ----------------------------------------------------------------------
// The consumers that hold slices of the same rows of D reduce them together, in chunks of columns
// of a row block (common/split_k_reduction.cuh).
constexpr int kChunksOfRowBlock = kBlockN / kChunkColumns;
constexpr int kChunks = kRowBlocks * kChunksOfRowBlock;
constexpr int kPartialTileElements = kWarpgroup * kChunks * kChunkColumns / 2;
using Reduction = SplitKReduction<kSplitK, kChunks>;

// A thread's accumulators in a partial tile, in vectors of 16 bytes. Vectors of neighbouring
// threads are neighbours in memory.
constexpr int kVectorsOfChunk = kChunkColumns / 2 / kVectorElements;
constexpr int kVectorsOfTile = kChunks * kVectorsOfChunk;
__device__ __forceinline__ float4* vectors_from(const Reduction& reduction, int slice, int chunk) {
  const int vectors = slice * kVectorsOfTile + chunk * kVectorsOfChunk;
  return reinterpret_cast<float4*>(reduction.partial_tiles) + vectors * kWarpgroup +
         reduction.group.thread;
}

__device__ __forceinline__ void store_partial_tile(const Reduction& reduction, int slice,
                                                   const Accumulator* accumulators) {
  float4* const to = vectors_from(reduction, slice, 0);
#pragma unroll
  for (int index = 0; index < kVectorsOfTile; ++index) {
    AccumulatorVector vector;
#pragma unroll
    for (int i = 0; i < kVectorElements; ++i) {
      vector.element[i] = accumulators[index * kVectorElements + i];
    }
    __stcg(to + index * kWarpgroup, reinterpret_cast<const float4&>(vector));
  }
}

// The accumulators of a chunk, over all slices; several slices are on their way at a time.
constexpr int kVectorsAtOnce = 16;
constexpr int kSlicesAtOnce =
    kVectorsOfChunk >= kVectorsAtOnce ? 1 : kVectorsAtOnce / kVectorsOfChunk;
__device__ __forceinline__ void add_slices(const Reduction& reduction, int chunk,
                                           ChunkAccumulators& accumulators) {
#pragma unroll
  for (int i = 0; i < kChunkColumns / 2; ++i) {
    accumulators[i] = 0;
  }
#pragma unroll 1
  for (int first = 0; first < kSplitK; first += kSlicesAtOnce) {
    const float4* const from = vectors_from(reduction, first, chunk);
    float4 vectors[kSlicesAtOnce][kVectorsOfChunk];
#pragma unroll
    for (int slice = 0; slice < kSlicesAtOnce; ++slice) {
#pragma unroll
      for (int index = 0; index < kVectorsOfChunk; ++index) {
        if (first + slice < kSplitK) {
          vectors[slice][index] = __ldcg(from + (slice * kVectorsOfTile + index) * kWarpgroup);
        }
      }
    }
#pragma unroll
    for (int slice = 0; slice < kSlicesAtOnce; ++slice) {
#pragma unroll
      for (int index = 0; index < kVectorsOfChunk; ++index) {
        if (first + slice < kSplitK) {
          const auto& vector = reinterpret_cast<const AccumulatorVector&>(vectors[slice][index]);
#pragma unroll
          for (int i = 0; i < kVectorElements; ++i) {
            add(vector.element[i], accumulators[index * kVectorElements + i]);
          }
        }
      }
    }
  }
}

// ---- 5.3 A work tile is stored ------------------------------------------------------------------
// A consumer's rows of it, from row m0 of D on. Where K is split, a consumer may wait for the
// others that hold slices of them only if no other work waits for it.
__device__ __forceinline__ void store_work_tile(const Arguments& arguments, const TensorMap& d,
                                                const WorkTile& work, bool is_last, int m0,
                                                int consumer, char* memory, EpilogueBuffer& buffer,
                                                int* scratch, Accumulators& accumulators) {
  if (kSplitK == 1) {
#pragma unroll
    for (int block = 0; block < kRowBlocks; ++block) {
      store_row_block(arguments, d, work, m0, block, consumer, memory, buffer, accumulators);
    }
    return;
  }
  const ThreadGroup group = thread_group_of_consumer(consumer);
  const long long tile = kPingPong ? work.tile : work.tile * kConsumers + consumer;
  const Reduction reduction =
      split_k_reduction<kSplitK, kChunks>(arguments, tile, kPartialTileElements, group, scratch);
  store_partial_tile(reduction, work.slice, &accumulators[0][0]);
  int chunk = reduction.begin(is_last);
  for (; chunk < kChunks; chunk = reduction.next_chunk()) {
    ChunkAccumulators of_chunk;
    add_slices(reduction, chunk, of_chunk);
    store_chunk(arguments, d, group, work.entry,
                m0 + wgmma::kRowBlock * (chunk / kChunksOfRowBlock),
                work.n0 + chunk % kChunksOfRowBlock * kChunkColumns, memory, buffer, of_chunk);
  }
}

// ---- 6. Entry -----------------------------------------------------------------------------------
// A consumer warpgroup: its rows of every work tile, or every second work tile whole.
constexpr int kPingPongBarrier = 8;  // and 9: each consumer waits on one until it may multiply
__device__ __forceinline__ void consume(const Arguments& arguments, const TensorMap& d,
                                        const SharedMemory& shared, char* memory, int* scratch,
                                        const TileScheduler& scheduler, int consumer) {
  const int row = kPingPong ? 0 : consumer * kRows;
  PipelineState state;
  const StageRelease releases = stage_release_of_lane(shared, scheduler.cta);
  EpilogueBuffer buffer{shared_address(memory)};
  int number = 0;
  for (int index = scheduler.first; index < scheduler.count; index += scheduler.stride, ++number) {
    const WorkTile work = work_tile_at(scheduler, index);
    const bool is_last = index + scheduler.stride >= scheduler.count;
    if (kPingPong && number % 2 != consumer) {
      advance(state, work.tiles_of_k);
      continue;
    }
    if (kPingPong && number > 0) {
      sync(kPingPongBarrier + consumer, 2 * kWarpgroup);
    }
    Accumulators accumulators;
    if (kSplitK > 1) {
      clear(accumulators);  // the registers are free until here: reduction chunks need them
    }
    if (kPromotes) {
      multiply_promoted(shared, releases, work, row, state, accumulators);
    } else if (kAFromRegisters) {
      multiply_from_registers(shared, releases, work, row, state, accumulators);
    } else {
      multiply(shared, releases, work, row, state, accumulators);
    }
    if (kPingPong && !is_last) {
      arrive(kPingPongBarrier + 1 - consumer, 2 * kWarpgroup);
    }
    finish_multiplying(releases, state, accumulators);
    store_work_tile(arguments, d, work, is_last, work.m0 + row, consumer, memory, buffer, scratch,
                    accumulators);
  }
}

// A consumer warpgroup of several row blocks that multiplies and stores at the same time: its first
// row block is stored while the last wgmma of the others runs, and the others are stored while the
// first wgmma of the next work tile runs.
//
//   first row block | last wgmma            | stored            | first wgmma       | ...
//   the others      | last wgmma of this work tile              | stored            | first wgmma

// A work tile begins: the first wgmma of its first row block, which the others may follow later.
__device__ __forceinline__ void begin_overlapped(const SharedMemory& shared,
                                                 const PipelineState& state, int row,
                                                 Accumulators& accumulators) {
  wait(full_barrier(shared, state.stage), state.phase);
  fence_registers(accumulators[0]);
  wgmma_fence();
  multiply_row_blocks(shared, state.stage, row, false, 0, 1, accumulators);
  wgmma_commit_group();
}

// All the others, those of the first row block and of the others with a tile along K a group each.
// The last ones still run afterwards, and their stage is not released.
__device__ __forceinline__ void multiply_overlapped(const SharedMemory& shared,
                                                    const StageRelease& releases, int tiles_of_k,
                                                    int row, PipelineState& state,
                                                    Accumulators& accumulators) {
  fence_row_blocks(1, kRowBlocks, accumulators);
  wgmma_fence();
  multiply_row_blocks(shared, state.stage, row, false, 1, kRowBlocks, accumulators);
  wgmma_commit_group();
  int before = state.stage;
  advance(state);
#pragma unroll 1
  for (int tile = 1; tile < tiles_of_k; ++tile) {
    wait(full_barrier(shared, state.stage), state.phase);
    fence_accumulators(accumulators);
    wgmma_fence();
    multiply_row_blocks(shared, state.stage, row, true, 0, 1, accumulators);
    wgmma_commit_group();
    multiply_row_blocks(shared, state.stage, row, true, 1, kRowBlocks, accumulators);
    wgmma_commit_group();
    wgmma_wait_group(2);
    fence_accumulators(accumulators);
    release(releases, before);
    before = state.stage;
    advance(state);
  }
}

__device__ __forceinline__ void consume_overlapped(const Arguments& arguments, const TensorMap& d,
                                                   const SharedMemory& shared, char* memory,
                                                   const TileScheduler& scheduler, int consumer) {
  const int row = consumer * kRows;
  PipelineState state;
  const StageRelease releases = stage_release_of_lane(shared, scheduler.cta);
  EpilogueBuffer buffer{shared_address(memory)};
  Accumulators accumulators;
  const auto store = [&](const WorkTile& work, int first, int end) {
#pragma unroll
    for (int block = first; block < end; ++block) {
      store_row_block(arguments, d, work, work.m0 + row, block, consumer, memory, buffer,
                      accumulators);
    }
  };
  int index = scheduler.first;
  if (index >= scheduler.count) {
    return;
  }
  begin_overlapped(shared, state, row, accumulators);
  // What the accumulators are used for must not depend on a branch while wgmma runs: the compiler
  // would let it wait for it. So the last work tile ends behind the loop.
  WorkTile work = work_tile_at(scheduler, index);
  while (true) {
    multiply_overlapped(shared, releases, work.tiles_of_k, row, state, accumulators);
    wgmma_wait_group(1);
    fence_registers(accumulators[0]);
    store(work, 0, 1);
    finish_multiplying(releases, state, accumulators);
    index += scheduler.stride;
    if (index >= scheduler.count) {
      break;
    }
    begin_overlapped(shared, state, row, accumulators);
    store(work, 1, kRowBlocks);
    work = work_tile_at(scheduler, index);
  }
  store(work, 1, kRowBlocks);
}

extern "C" __global__ void __cluster_dims__(kClusterSize, 1, 1) __launch_bounds__(kThreads, 1)
    tunedgemm_wgmma(const __grid_constant__ Arguments arguments,
                    const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                    const __grid_constant__ TensorMap d,
                    const __grid_constant__ GpcClusterRanges ranges) {
  extern __shared__ __align__(1024) char memory[];
  const SharedMemory shared{shared_address(memory)};
  int* const scratch = reinterpret_cast<int*>(memory + kSharedBytes - kControlBytes / 2);
  const int warpgroup = warp_uniform(threadIdx.x / kWarpgroup);

  if (threadIdx.x == 0) {
    prefetch_tensor_map(a);
    prefetch_tensor_map(b);
    init_barriers(shared);
  }
  cluster_arrive_relaxed(kClusterSize);
  ClaimedClusterId claimed;
  if (kGpcAware) {
    claimed = claim_cluster_id<kClusterSize>(arguments, ranges);
  } else {
    launch_dependents();
  }
  TileScheduler scheduler = make_tile_scheduler(arguments);
  if (kPrefetch > 0 && threadIdx.x / 32 == kPrefetchWarp && elect_one()) {
    prefetch_operands(arguments, a, b, scheduler);
  }
  cluster_wait(kClusterSize);
  if (kGpcAware) {
    scheduler.first = broadcast_cluster_id<kClusterSize>(
        scheduler.cta.rank, claimed.id, cluster_id_address(shared), cluster_id_barrier(shared));
  }

  if (warpgroup == 0) {
    if (kConsumers > 1) {
      decrease_registers(kShape.producer_registers());
    }
    if (kGpcAware && threadIdx.x == kClaimingThread) {
      finish_claim(arguments, ranges, claimed, scheduler.stride);
    }
    if (threadIdx.x < 32 && elect_one()) {
      wait_for_previous_kernels();
      produce(arguments, a, b, shared, scheduler);
    } else if (kTransposes && threadIdx.x >= 32) {
      transpose_tiles(shared, scheduler, threadIdx.x / 32 - 1);
    }
  } else {
    if (kConsumers > 1) {
      increase_registers(kShape.consumer_registers());
    }
    const int consumer = warpgroup - 1, warp = kSwapAB ? 4 * consumer : threadIdx.x / 32 - 4;
    char* const epilogue_stages =
        memory + kStages * kShape.stage_bytes() + warp * kShape.epilogue_bytes_of_warp();
    wait_for_previous_kernels();
    if (kShape.overlaps_epilogue()) {
      consume_overlapped(arguments, d, shared, epilogue_stages, scheduler, consumer);
    } else {
      consume(arguments, d, shared, epilogue_stages, scratch + consumer, scheduler, consumer);
    }
    if (kTensorStore && threadIdx.x % 32 == 0) {
      tma_store_wait_read(0);
    }
  }
}

#if ALIGN_A < 16 || ALIGN_B < 16
// The kernel before it, which pads operands. The other one may be started at once: it waits until
// this one has ended.
extern "C" __global__ void __launch_bounds__(kPaddingThreads, kPaddingBlocksOfSm)
    tunedgemm_wgmma_pad(const __grid_constant__ Arguments arguments,
                        const __grid_constant__ OperandPadding padding) {
  launch_dependents();
  wait_for_previous_kernels();
  pad_operands(arguments, padding);
}
#endif
