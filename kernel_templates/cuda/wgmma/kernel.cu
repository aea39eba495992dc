// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        on Hopper's tensor cores (sm_90a)
//
// Read wgmma_first.cu first: it explains the producer, the consumers and the barriers between them.
// New here: the kernel is persistent. A CTA computes one tile of D after another, and loads the
// operands of the next tile while it stores the current one. CTAs form clusters, consumers follow
// one of three schedules, TMA also stores D, and operands have any order and alignment.
//
//    producer, 1 thread          full[s]: the tile is there         consumers, 1 to 3 warpgroups
//   +---------------------+     +---+---+---+---+  stages tiles    +------------------------------+
//   | wait for empty[s]   | TMA | s | s | s | s |  of A and B      | wait for full[s]             |
//   | load A and B into s | --> |   |   |   |   | ---------------> | accumulators += A * B from s |
//   | s = next stage      |     +---+---+---+---+                  | arrive at empty[s]           |
//   +---------------------+     empty[s]: it has been multiplied   | after the last k: epilogue   |
//                                                                  +------------------------------+
//
// Consumers share a tile, with block_m / consumers rows each (cooperative), or take turns
// (ping_pong): one multiplies its tile while the other stores. A cooperative consumer with several
// row blocks of 64 rows may store some while it multiplies others. CTAs may form a cluster. The
// cluster_m CTAs below each other share B: each loads a part and multicasts it to all. The
// cluster_n CTAs beside each other share A. Clusters take work tiles in the order of their cluster
// ids. With gpc_aware, clusters of the same GPC take neighbouring work tiles. With evict_first,
// matrices that are not read again soon are evicted from the L2 cache first.
//
// With tensor_store=1, the consumers convert D and arrange it in shared memory, and TMA copies it
// while the next tile is multiplied. With tensor_store=0 the threads store D, as in mma. If the
// host has exchanged A and B (swap_ab), D is column-major here.
//
// f16, bf16, s8 and fp8 are multiplied directly. TMA rounds f32 to tf32. fp8 accumulates in the
// tensor cores (NUMERICS 3, fast), or in f32 after each k tile (4, promoted). wgmma takes operands
// of 8 and 32 bits only if they are K-major. The consumers read an MN-major A of 32 bits into
// registers. Other MN-major operands of these types are transposed in shared memory by the other
// warps of the producer's warpgroup (transpose.cuh). wgmma has no instruction for f64, so the warps
// of the consumers multiply it with mma.sync (f64_fragments.cuh).
//
// If rows are grouped, the CTAs make a table of the groups in shared memory and find their work
// tiles in it. Tiles, and clusters, end with a group.
//
// TMA needs rows that are aligned to 16 bytes. An operand with other rows is first copied to the
// workspace, with padded rows, by another kernel (pad.cuh).
//
// Files: shape.h has the knobs; this one the producer, the consumers and the entry.
// mainloop.cuh multiplies a work tile, and epilogue.cuh stores it. tile_scheduler.cuh selects the
// next work tile. pipeline.cuh has the stages and their barriers.
//
// Cost: shared memory for stages * block_k * (block_m + block_n) elements, and 2 KiB *
// epilogue_stages per consumer warp; block_m * block_n / (128 * consumers) accumulators per thread
// (with ping_pong, block_m * block_n / 128; with promoted accumulators, block_n / 2 more). An SM
// therefore runs only one CTA: the kernel trades occupancy for register tiles.
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
#include "../ptx/data_movement.cuh"
#include "../ptx/mbarrier.cuh"
#include "../ptx/synchronization.cuh"
#include "../ptx/tensor_copy.cuh"
#include "../ptx/warpgroup.cuh"
#include "claim_cluster_id.cuh"
#include "epilogue.cuh"
#include "mainloop.cuh"
#include "pad.cuh"
#include "pipeline.cuh"
#include "shape.h"
#include "shared_tile.cuh"
#include "tile_scheduler.cuh"
#include "transpose.cuh"
#ifndef BLOCK_N
#define BLOCK_N 256  // a macro, since the names of instructions contain it
#endif

#ifndef GROUPS
#define GROUPS 1  // the most groups of rows
#endif

// The knobs, their defaults and their meanings are WGMMA_KNOBS in shape.h. The macro of block_m is
// BLOCK_M.
#define WGMMA_TEXT(macro) #macro
#define WGMMA_KNOB(type, name, macro, value, meaning) \
  .name = static_cast<type>(wgmma::macro_value(WGMMA_TEXT(macro), value)),
constexpr wgmma::Shape kShape{WGMMA_KNOBS(WGMMA_KNOB, WGMMA_NONE).element_bytes = sizeof(TypeA),
                              .element_bytes_d = sizeof(TypeD),
                              .a_is_k_major = kOrderA == Order::kRowMajor,
                              .b_is_k_major = kOrderB == Order::kColumnMajor,
                              .accumulates_integers = kAccumulatorIsInteger,
                              .promotes = kNumerics == Numerics::kPromoted,
                              .has_block_scales = kHasBlockScales,
                              .scales_columns = kScalingB == Scaling::kBlock1x128,
                              .reads_c = kReadC,
                              .reads_bias = kBias != Bias::kNone,
                              .groups = kGroupsRows ? GROUPS : 0};
TUNEDGEMM_CONSTEXPR wgmma::OtherKnobs other_knobs() {
  return {WGMMA_KNOBS(WGMMA_NONE, WGMMA_KNOB)};
}
constexpr Rasterization kRasterization{.group_m = other_knobs().group_m,
                                       .along_n = other_knobs().raster_along_n};
constexpr bool kGpcAware = other_knobs().gpc_aware;
constexpr int kEvictFirst = other_knobs().evict_first, kPrefetch = other_knobs().prefetch;
#ifndef THREADS
#define THREADS kShape.threads()
#endif
#ifndef SHARED_BYTES
#define SHARED_BYTES kShape.shared_bytes()
#endif

// ---- 3. What must hold --------------------------------------------------------------------------
static_assert(sizeof(TypeA) == sizeof(TypeB), "A and B must have elements of one size");
#define WGMMA_ASSERT(function, knobs, sentence) \
  static_assert(kShape.function(), knobs ": " sentence);
WGMMA_CONSTRAINTS(WGMMA_ASSERT)
static_assert(kShape.consumers >= 1 && kShape.consumers <= 3, "consumers must be 1, 2 or 3");
static_assert(!kShape.tensor_store || kAlignD >= wgmma::kTmaAlignment,
              "tensor_store=1 needs rows of D aligned to 16 bytes");
static_assert(!kShape.tensor_store || !kLongActivation,
              "activations in f64 need the rolled loop of tensor_store=0");
static_assert(kShape.stages >= 2 && kShape.stages <= 16, "stages must be 2 to 16");
static_assert(kShape.in_flight == 0 || kShape.in_flight == 1, "in_flight must be 0 or 1");
static_assert(kRasterization.group_m >= 1 && kShape.split_k >= 1,
              "group_m and split_k must be 1 or more");
static_assert(!kGroupsDepth || (kOrderA == Order::kColumnMajor && kOrderB == Order::kRowMajor),
              "groups along K need MN-major operands: only their lines can end with a group");
static_assert(!kGroupsDepth || (kShape.split_k == 1 && !kHasBlockScales),
              "groups along K need split_k=1, and may begin inside a block with one scale");
static_assert(kGroupKind == GroupKind::kNone || kPrefetch == 0, "groups cannot be prefetched");
static_assert(kPrefetch >= 0 && kEvictFirst >= 0, "prefetch and evict_first must be 0 or more");
static_assert(kShape.accumulators_fit(),
              "block_m * block_n needs too many accumulators a thread: make the tile smaller");
static_assert(kShape.registers_fit(),
              "consumers would wait forever for registers that nobody releases");
static_assert(THREADS == kShape.threads(), "THREADS must be 128 a warpgroup");
static_assert(
    SHARED_BYTES == kShape.shared_bytes(),
    "SHARED_BYTES must be stages * block_k * (block_m + block_n) elements (MN-major: whole "
    "128 bytes of them), 8 KiB * epilogue_stages a consumer, the scales of blocks and 1 KiB");

DEFINE_WGMMA(BLOCK_N, ORDER_A, NOT_OF(ORDER_B))  // row-major A and column-major B are K-major

using Scheduler = TileScheduler<kShape, kRasterization>;
constexpr int kClusterSize = kShape.cluster_size();

// ---- 4. Producer --------------------------------------------------------------------------------
// A rasterization group of rows of tiles rereads its part of A from the L2 cache and streams all of
// B. A group of columns (raster_along_n) rereads its part of B and streams A. The streamed operand
// and D can leave the cache first, since they are not read again soon. Copies of ragged matrices
// have no priority.
TUNEDGEMM_CONSTEXPR EvictionPriority eviction_if(bool is_first) {
  return is_first ? EvictionPriority::kFirst : EvictionPriority::kNormal;
}
constexpr bool kEvictsOperands = kEvictFirst >= 1 && !kGroupsDepth;
constexpr EvictionPriority kEvictionA = eviction_if(kEvictsOperands && kRasterization.along_n);
constexpr EvictionPriority kEvictionB = eviction_if(kEvictsOperands && !kRasterization.along_n);
constexpr EvictionPriority kEvictionD = eviction_if(kEvictFirst == 1 && !kGroupsRows);

// One thread loads all k tiles of this CTA, in order.
__device__ __forceinline__ void produce(const Arguments& arguments, const TensorMap& a,
                                        const TensorMap& b, const SharedMemory<kShape>& shared,
                                        Scheduler scheduler) {
  const ClusterCoordinate cta = scheduler.cta;
  const CacheHint hint_a = make_cache_hint(kEvictionA), hint_b = make_cache_hint(kEvictionB);
  PipelineState<kShape.stages> state;
  for (int index = scheduler.first; index < scheduler.count; index += scheduler.stride) {
    const WorkTile work = scheduler.work_tile(index);
    const TmaOperand operand_a{.tile = kShape.loaded_tile_a(),
                               .map = a,
                               .batch_index = arguments.batch_stride_a == 0 ? 0 : work.batch_index,
                               .parts = kShape.cluster_n,
                               .part = cta.n,
                               .hint = hint_a,
                               .end_k = work.end};
    const TmaOperand operand_b{.tile = kShape.loaded_tile_b(),
                               .map = b,
                               .batch_index = arguments.batch_stride_b == 0 ? 0 : work.batch_index,
                               .parts = kShape.cluster_m,
                               .part = cta.m,
                               .hint = hint_b,
                               .end_k = work.end};
#pragma unroll 1
    for (int k_tile = 0; k_tile < work.k_tiles; ++k_tile) {
      const int k0 = work.begin_k + (work.first_k_tile + k_tile) * kShape.block_k;
      const unsigned barrier =
          kShape.transposes() ? shared.loaded(state.stage) : shared.full(state.stage);
      wait(shared.empty(state.stage), state.phase ^ 1);
      arrive_expect_tx(barrier, kShape.stage_bytes());
      operand_a.load_tile(shared.a(state.stage), barrier, work.m0, k0,
                          multicast_mask_a<kShape>(cta));
      operand_b.load_tile(shared.b(state.stage), barrier, work.n0, k0,
                          multicast_mask_b<kShape>(cta));
      state.advance();
    }
  }
  // A CTA must not exit while another CTA of its cluster may still write to its shared memory or
  // arrive on its barriers. So it waits until all stages have been released.
  for (int stage = 0; kClusterSize > 1 && stage < kShape.stages; ++stage) {
    wait(shared.empty(state.stage), state.phase ^ 1);
    state.advance();
  }
}

// One thread brings tiles to the L2 cache before the kernel may read its inputs: this CTA's part of
// the first kPrefetch k tiles of every slice, for batch index 0. The prefetch may go beyond the end
// of a short slice. Previous kernels may still write to these tiles. This is harmless, since their
// writes go through the L2 cache, too.
constexpr int kPrefetchWarp = 2;  // idle at this point
template <int kPrefetch>
__device__ __forceinline__ void prefetch_operands(const Arguments& arguments, const TensorMap& a,
                                                  const TensorMap& b, const Scheduler& scheduler) {
  const TmaOperand operand_a{.tile = kShape.loaded_tile_a(), .map = a, .parts = kShape.cluster_n};
  const TmaOperand operand_b{.tile = kShape.loaded_tile_b(), .map = b, .parts = kShape.cluster_m};
  constexpr int kKTiles = kShape.split_k * kPrefetch;
  const int tiles_m = tiles_along(arguments.m, kShape.block_m),
            tiles_n = tiles_along(arguments.n, kShape.block_n);
  for (int index = blockIdx.x; index < (tiles_m + tiles_n) * kKTiles; index += gridDim.x) {
    const int tile = index / kKTiles, k_tile = index % kKTiles;
    const int k0 =
        (scheduler.first_k_tile_of_slice(k_tile / kPrefetch) + k_tile % kPrefetch) * kShape.block_k;
    if (k0 >= arguments.k) {
      continue;
    }
    if (tile < tiles_m) {
      operand_a.prefetch_tile(tile * kShape.block_m, k0);
    } else {
      operand_b.prefetch_tile((tile - tiles_m) * kShape.block_n, k0);
    }
  }
}

// The other warps of the producer's warpgroup complete every stage: they copy the scales of blocks,
// and transpose the tiles whose order wgmma does not accept.
__device__ __forceinline__ void complete_stages(const Arguments& arguments,
                                                const SharedMemory<kShape>& shared,
                                                Scheduler scheduler, int thread) {
  PipelineState<kShape.stages> state;
  BlockScaleCopies<kShape> scales{arguments, thread};
  for (int index = scheduler.first; index < scheduler.count; index += scheduler.stride) {
    const WorkTile work = scheduler.work_tile(index);
    scales.begin(work);
#pragma unroll 1
    for (int k_tile = 0; k_tile < work.k_tiles; ++k_tile) {
      if constexpr (kHasBlockScales) {
        wait(shared.empty(state.stage), state.phase ^ 1);
        scales.copy(shared, state.stage);
      }
      if constexpr (kShape.transposes()) {
        wait(shared.loaded(state.stage), state.phase);
        if constexpr (kShape.transposes_a()) {
          transpose_tile(kShape.loaded_tile_a(), shared.a(state.stage), thread / 32,
                         wgmma::kCompletingWarps);
        }
        if constexpr (kShape.transposes_b()) {
          transpose_tile(kShape.loaded_tile_b(), shared.b(state.stage), thread / 32,
                         wgmma::kCompletingWarps);
        }
        fence_async_proxy();
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
          arrive(shared.full(state.stage));
        }
      }
      state.advance();
    }
  }
}

// ---- 5. Consumer --------------------------------------------------------------------------------
// A consumer warpgroup computes its rows of every work tile or, with ping_pong, every second work
// tile.
[[maybe_unused]] constexpr int kPingPongBarrier = 8;  // and 9: where each consumer waits its turn

template <wgmma::Shape kShape>
struct Consumer {
  using Accumulators = ::Accumulators<kShape>;

  Scheduler scheduler;
  CollectiveMainloop<kShape> mainloop;
  CollectiveEpilogue<kShape> epilogue;

  // `epilogue_stages` are those of this warp or, with swap_ab, of this consumer. `reduction_int` is
  // this consumer's.
  __device__ __forceinline__ Consumer(const Arguments& arguments, const TensorMap& d,
                                      const SharedMemory<kShape>& shared,
                                      const Scheduler& scheduler, int index, char* epilogue_stages,
                                      int* reduction_int)
      : scheduler(scheduler),
        mainloop{.arguments = arguments,
                 .shared = shared,
                 .first_row = kShape.ping_pong ? 0 : index * kShape.rows_of_consumer(),
                 .stage_release = stage_release_of_lane(shared, scheduler.cta)},
        epilogue{.arguments = arguments,
                 .d = d,
                 .lines_of_batch = kGroupKind == GroupKind::kCounts
                                       ? static_cast<int>(arguments.batch_stride_d / arguments.ldd)
                                       : 0,
                 .eviction = kEvictionD,
                 .consumer = index,
                 .first_row = mainloop.first_row,
                 .epilogue_stages = epilogue_stages,
                 .reduction_int = reduction_int,
                 .buffer = {shared_address(epilogue_stages)}} {}

  __device__ __forceinline__ void run() {
    if constexpr (kShape.ping_pong) {
      run_ping_pong();
    } else if constexpr (kShape.overlaps_epilogue()) {
      run_overlapped();
    } else {
      run_cooperative();
    }
  }

  // All consumers compute a work tile together.
  __device__ __forceinline__ void run_cooperative() {
    for (int index = scheduler.first; index < scheduler.count; index += scheduler.stride) {
      const WorkTile work = scheduler.work_tile(index);
      const bool is_last = index + scheduler.stride >= scheduler.count;
      Accumulators accumulators;
      mainloop.multiply_work_tile(work, accumulators);
      mainloop.finish(accumulators);
      store(work, is_last, accumulators);
    }
  }

  // Two consumers compute work tiles alternately. Each multiplies only after the other has
  // multiplied its own work tile, and stores while the other multiplies the next one.
  __device__ __forceinline__ void run_ping_pong() {
    // A copy: with the member, the compiler would number the registers differently.
    CollectiveMainloop<kShape> mainloop = this->mainloop;
    const int consumer = epilogue.consumer;
    int number = 0;
    for (int index = scheduler.first; index < scheduler.count;
         index += scheduler.stride, ++number) {
      const WorkTile work = scheduler.work_tile(index);
      const bool is_last = index + scheduler.stride >= scheduler.count;
      if (number % 2 != consumer) {
        mainloop.state.advance(work.k_tiles);
        continue;
      }
      if (number > 0) {
        sync(kPingPongBarrier + consumer, 2 * kWarpgroup);
      }
      Accumulators accumulators;
      mainloop.multiply_work_tile(work, accumulators);
      if (!is_last) {
        arrive(kPingPongBarrier + 1 - consumer, 2 * kWarpgroup);
      }
      mainloop.finish(accumulators);
      store(work, is_last, accumulators);
    }
  }

  // Like run_cooperative(), but stores some row blocks while it multiplies others. The first row
  // block is stored while the last wgmma of the others runs. The others are stored while the first
  // wgmma of the next work tile runs.
  __device__ __forceinline__ void run_overlapped() {
    Accumulators accumulators;
    int index = scheduler.first;
    if (index >= scheduler.count) {
      return;
    }
    mainloop.multiply_first_row_block(accumulators);
    // While wgmma runs, no branch may decide whether its accumulators are used, because the
    // compiler would insert a wait for wgmma at the branch. So the last work tile is finished after
    // the loop.
    WorkTile work = scheduler.work_tile(index);
    while (true) {
      mainloop.multiply_overlapped(work.k_tiles, accumulators);
      wgmma_wait_group(1);
      fence_registers(accumulators[0]);
      store_row_blocks(work, 0, 1, accumulators);
      mainloop.finish(accumulators);
      index += scheduler.stride;
      if (index >= scheduler.count) {
        break;
      }
      mainloop.multiply_first_row_block(accumulators);
      store_row_blocks(work, 1, kShape.row_blocks(), accumulators);
      work = scheduler.work_tile(index);
    }
    store_row_blocks(work, 1, kShape.row_blocks(), accumulators);
  }

  __device__ __forceinline__ void store(const WorkTile& work, bool is_last,
                                        const Accumulators& accumulators) {
    if constexpr (kShape.split_k > 1) {
      epilogue.reduce_and_store(work, is_last, accumulators);
    } else {
      store_row_blocks(work, 0, kShape.row_blocks(), accumulators);
    }
  }

  // Stores row blocks `first` to `end` - 1.
  __device__ __forceinline__ void store_row_blocks(const WorkTile& work, int first, int end,
                                                   const Accumulators& accumulators) {
#pragma unroll
    for (int block = first; block < end; ++block) {
      epilogue.store_chunk(epilogue.row_block(work, block),
                           thread_group_of_consumer(epilogue.consumer), accumulators[block]);
    }
  }
};

// ---- 6. Entry -----------------------------------------------------------------------------------
extern "C" __global__ void __cluster_dims__(kClusterSize, 1, 1) __launch_bounds__(THREADS, 1)
    tunedgemm_wgmma(const __grid_constant__ Arguments arguments,
                    const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                    const __grid_constant__ TensorMap d,
                    const __grid_constant__ GpcClusterRanges ranges) {
  extern __shared__ __align__(1024) char memory[];
  auto& storage = reinterpret_cast<SharedStorage<kShape>&>(memory);
  const SharedMemory<kShape> shared{shared_address(&storage)};
  const int warpgroup = warp_uniform(threadIdx.x / kWarpgroup);

  if (threadIdx.x == 0) {
    prefetch_tensor_map(a);
    prefetch_tensor_map(b);
    init_barriers(shared);
    if (kGpcAware && kClusterSize > 1) {
      init_barrier(shared.cluster_id_sent(), 1);
      arrive_expect_tx(shared.cluster_id_sent(), sizeof(int));
    }
    fence_barrier_init();
  }
  cluster_arrive_relaxed(kClusterSize);
  ClaimedClusterId claimed;
  if (kGpcAware) {
    claimed = claim_cluster_id<kClusterSize>(arguments, ranges);
  } else {
    launch_dependents();
  }
  Scheduler scheduler = make_tile_scheduler<kShape, kRasterization>(arguments);
  if constexpr (kPrefetch > 0) {
    if (threadIdx.x / 32 == kPrefetchWarp && elect_one()) {
      prefetch_operands<kPrefetch>(arguments, a, b, scheduler);
    }
  }
  cluster_wait(kClusterSize);
  if (kGpcAware) {
    scheduler.first = broadcast_cluster_id<kClusterSize>(
        scheduler.cta.rank, claimed.id, shared.cluster_id(), shared.cluster_id_sent());
  }

  if constexpr (kGroupsRows) {
    wait_for_previous_kernels();
    if (threadIdx.x < 32) {
      scheduler.fill(storage.groups);
    }
    __syncthreads();
    scheduler.group = storage.groups;
    scheduler.count = storage.groups[arguments.batch].first;
  }

  if (warpgroup == 0) {
    if (kShape.consumers > 1) {
      decrease_registers(kShape.producer_registers());
    }
    if (kGpcAware && threadIdx.x == kClaimingThread) {
      finish_claim(arguments, ranges, claimed, scheduler.stride);
    }
    if (threadIdx.x < 32 && elect_one()) {
      wait_for_previous_kernels();
      produce(arguments, a, b, shared, scheduler);
    } else if ((kHasBlockScales || kShape.transposes()) && threadIdx.x >= 32) {
      wait_for_previous_kernels();
      complete_stages(arguments, shared, scheduler, threadIdx.x - 32);
    }
  } else {
    if (kShape.consumers > 1) {
      increase_registers(kShape.consumer_registers());
    }
    const int index = warpgroup - 1, warp = kShape.swap_ab ? 4 * index : threadIdx.x / 32 - 4;
    char* const epilogue_stages = storage.epilogue + warp * kShape.epilogue_bytes_of_warp();
    wait_for_previous_kernels();
    Consumer<kShape>(arguments, d, shared, scheduler, index, epilogue_stages,
                     storage.reduction + index)
        .run();
    if (kShape.tensor_store && threadIdx.x % 32 == 0) {
      tma_store_wait_read(0);
    }
  }
}

#if ALIGN_A < 16 || ALIGN_B < 16
// Pads operands for the main kernel. The main kernel may start early, but waits until this kernel
// has ended.
extern "C" __global__ void __launch_bounds__(kPaddingThreads, kPaddingBlocksOfSm)
    tunedgemm_wgmma_pad(const __grid_constant__ Arguments arguments,
                        const __grid_constant__ OperandPadding padding) {
  launch_dependents();
  wait_for_previous_kernels();
  pad_operands(arguments, padding);
}
#endif
