// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = act(alpha * A * B + beta * C + bias)        on Hopper's tensor cores (sm_90a)
//
// Read mma.cu first. New here: the threads neither copy nor hold operands. One of them, the
// producer, asks the tensor memory accelerator for tiles (ptx/tensor_copy.cuh); a warpgroup, four
// warps, multiplies tiles where they lie, in shared memory (ptx/wgmma.cuh); and barriers that
// count bytes and arrivals (ptx/mbarrier.cuh) are all that goes between them. The kernel is
// persistent: a block computes one tile of D after the other, and while the sums of one are stored,
// the operands of the next are already being copied.
//
//    producer, 1 thread          full[s]: the tile is there         consumers, 1 to 3 warpgroups
//   +---------------------+     +---+---+---+---+  stages tiles    +------------------------------+
//   | wait for empty[s]   | TMA | s | s | s | s |  of A and B      | wait for full[s]             |
//   | load A and B into s | --> |   |   |   |   | ---------------> | sums += A * B, from s        |
//   | s = next stage      |     +---+---+---+---+                  | arrive at empty[s]           |
//   +---------------------+     empty[s]: it has been multiplied   | last k: finish, store tile   |
//                                                                  +------------------------------+
//
// Consumers either share a tile, block_m / consumers rows each (cooperative), or take tiles in turn
// (ping_pong): then one multiplies while the other stores. A cooperative one of several times 64
// rows stores some while it multiplies others (sm90/overlapped_consumer.cuh). Neighbouring blocks
// may form a cluster: cluster_m of them below each other share B, each loading a part of it for
// all, and cluster_n of them beside each other A. Shares of the tiles go to clusters in the order
// of their numbers, or (gpc_aware) so that a GPC's clusters have neighbouring ones. What is not read
// again soon may leave the L2 cache before the rest (evict_first).
//
// How the sums leave (tensor_store): converted, spread in shared memory and copied out by TMA, in
// blocks of 16 columns, while the next tile is being multiplied, or by the threads, as in mma.cu.
// Where the host has exchanged A and B (swap_ab), D is column-major here, and its columns leave.
//
// How types are multiplied: f16, bf16, s8 and fp8 as they are; f32 as tf32, which TMA rounds to.
// Sums of fp8 are those of the tensor core (NUMERICS 3, fast), or moved to f32 after each tile (4,
// promoted). Products take operands of 8 and 32 bits along K only. Where their lines do not follow
// K, the consumers read A of 32 bits themselves (sm90/register_products.cuh), and the producer's
// other warps turn the rest (sm90/transpose.cuh).
//
// Price: stages * block_k * (block_m + block_n) elements and 2 KiB * epilogue_stages a consumer warp of
// shared memory; block_m * block_n / (128 * consumers) accumulators a thread (ping_pong: 128;
// promoted: and block_n / 2 more).
//
//   nvcc -std=c++20 -arch=sm_90a -cubin kernel_templates/cuda/sm90/kernel.cu

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
#define EPILOGUE_STAGES 2  // places where a warp prepares what it stores, by turns
#endif
#ifndef CONSUMERS
#define CONSUMERS 2  // warpgroups that multiply
#endif
#ifndef PING_PONG
#define PING_PONG 0  // 0: they share a tile; 1: they take tiles in turn
#endif
#ifndef CLUSTER_M
#define CLUSTER_M 2  // blocks below each other that share B
#endif
#ifndef CLUSTER_N
#define CLUSTER_N 1  // blocks beside each other that share A
#endif
#ifndef GROUP_M
#define GROUP_M 8  // rows of (clusters of) tiles that walk together
#endif
#ifndef RASTER_ALONG_N
#define RASTER_ALONG_N 0  // 1: columns that walk together
#endif
#ifndef GPC_AWARE
#define GPC_AWARE 0  // 1: neighbouring tiles go to multiprocessors of one GPC
#endif
#ifndef EVICT_FIRST
#define EVICT_FIRST 0  // 1: copies of D, and of A or B, whichever passes, leave L2 first
#endif
#ifndef SPLIT_K
#define SPLIT_K 1  // parts of K that are computed apart
#endif
#ifndef IN_FLIGHT
#define IN_FLIGHT 1  // tiles along K whose products still run when the next ones are begun
#endif
#ifndef TENSOR_STORE
#define TENSOR_STORE 1  // 0: threads store D; 1: TMA does
#endif
#ifndef SWAP_AB
#define SWAP_AB 0  // 1: what is computed here is the transpose of what is asked
#endif
#ifndef PREFETCH
#define PREFETCH 0  // tiles along K that come early into the L2 cache
#endif
#ifndef THREADS
#define THREADS (128 * (1 + CONSUMERS))
#endif
constexpr int kBlockM = BLOCK_M, kBlockN = BLOCK_N, kBlockK = BLOCK_K;
constexpr int kStages = STAGES, kEpilogueStages = EPILOGUE_STAGES;
constexpr int kConsumers = CONSUMERS;
constexpr bool kPingPong = PING_PONG != 0;
constexpr int kClusterM = CLUSTER_M, kClusterN = CLUSTER_N;
constexpr int kGroupM = GROUP_M, kSplitK = SPLIT_K;
constexpr bool kRasterAlongN = RASTER_ALONG_N != 0;
constexpr bool kGpcAware = GPC_AWARE != 0;
constexpr bool kEvictFirst = EVICT_FIRST != 0;
constexpr int kInFlight = IN_FLIGHT;
constexpr bool kTensorStore = TENSOR_STORE != 0;
constexpr bool kSwapAB = SWAP_AB != 0;
constexpr int kPrefetch = PREFETCH;
constexpr int kThreads = THREADS;

// ---- 3. What must hold --------------------------------------------------------------------------
constexpr int kCluster = kClusterM * kClusterN;
static_assert(kCluster == 1 || kCluster == 2 || kCluster == 4,
              "cluster_m times cluster_n must be 1, 2 or 4");
static_assert(kConsumers >= 1 && kConsumers <= 3, "consumers must be 1, 2 or 3");
static_assert(!kPingPong || kConsumers == 2, "ping_pong takes two consumers");
static_assert(kThreads == 128 * (1 + kConsumers), "THREADS must be 128 a warpgroup");
constexpr int kRows = kPingPong ? kBlockM : kBlockM / kConsumers;  // of D, of a consumer
constexpr int kRowBlocks = kRows / 64;
static_assert(kRowBlocks * 64 * (kPingPong ? 1 : kConsumers) == kBlockM,
              "block_m must be 64 rows for each consumer, or a multiple of that");
static_assert(kBlockN >= 16 && kBlockN <= 256, "block_n must be 16 to 256");

constexpr int kElementBytes = sizeof(TypeA);
static_assert(kElementBytes == sizeof(TypeB), "A and B must have elements of one size");
constexpr int kAtoms = kBlockK * kElementBytes / 128;  // of 128 bytes along K
static_assert(kAtoms * 128 == kBlockK * kElementBytes && (kAtoms == 1 || kAtoms == 2),
              "block_k must be 128 or 256 bytes");
static_assert(kBlockN % (8 * kClusterM) == 0 || kOrderB == Order::kRowMajor,
              "each of the cluster_m blocks must load a multiple of 8 columns of B");
static_assert(kAlignA == 16 && kAlignB == 16, "rows of A and B must be aligned to 16 bytes");
static_assert(!kTensorStore || kAlignD == 16, "tensor_store needs rows of D aligned to 16 bytes");
static_assert(!kSwapAB || kTensorStore, "swap_ab needs tensor_store=1: threads store rows of D");
static_assert(!kTensorStore || kActivation < Activation::kGeluTanh,
              "long activations need the rolled loop of tensor_store=0");
static_assert(kStages >= 2 && kStages <= 16, "stages must be 2 to 16");
static_assert(kEpilogueStages == 2 || (kEpilogueStages == 1 && kTensorStore),
              "epilogue_stages must be 2, or 1 with tensor_store=1");
static_assert(kInFlight == 0 || kInFlight == 1, "in_flight must be 0 or 1");
constexpr bool kPromotes = kNumerics == Numerics::kPromoted;
static_assert(!kPromotes || kInFlight == 0, "promoted sums need in_flight=0");
static_assert(kGroupM >= 1 && kSplitK >= 1, "group_m and split_k must be 1 or more");
static_assert(kPrefetch >= 0, "prefetch must be 0 or more");

#include "operand_tiles.cuh"
static_assert(kBlockN % kWidthStep == 0, "block_n must be a multiple of 8, some types of 16");
static_assert((!kTurns && !kRegistersA) || kAtoms == 1,
              "block_k must be 128 bytes where products cannot take a tile as it is");
static_assert(!kRegistersA || kInFlight == 1, "A of 32 bits across K needs in_flight=1");
constexpr int kRingBytes = kStages * (kTileBytesA + kTileBytesB);
constexpr int kEpilogueStageBytes = 2048;  // of a warp: 16 lines of 128
constexpr int kStagingBytes = kEpilogueStages * kEpilogueStageBytes;
constexpr int kControlBytes = 1024;  // barriers, a word for each consumer, and the share
constexpr int kSharedBytes = kRingBytes + kConsumers * 4 * kStagingBytes + kControlBytes;
#ifndef SHARED_BYTES
#define SHARED_BYTES kSharedBytes
#endif
static_assert(
    SHARED_BYTES == kSharedBytes,
    "SHARED_BYTES must be stages * block_k * (block_m + block_n) elements (where lines do "
    "not follow K, rows or columns of whole 128 bytes), 8 KiB * epilogue_stages a consumer and 1 "
    "KiB");

#include "register_budget.cuh"

// ---- 4. Words -----------------------------------------------------------------------------------
#include "../ptx/cp_async.cuh"
#include "../ptx/griddepcontrol.cuh"
#include "../ptx/mbarrier.cuh"
#include "../ptx/named_barrier.cuh"
#include "../ptx/warpgroup.cuh"
#include "claim_cluster_id.cuh"
#include "eviction.cuh"
#include "overlapped_consumer.cuh"
#include "pipeline.cuh"
#include "prefetch.cuh"
#include "products.cuh"
#include "promoted_products.cuh"
#include "register_products.cuh"
#include "store_work_tile.cuh"
#include "tile_scheduler.cuh"
#include "transpose.cuh"

// ---- 5. Moves -----------------------------------------------------------------------------------
// One thread: every tile of A and B that this block multiplies, in order.
__device__ __forceinline__ void produce(const Arguments& arguments, const TensorMap& a,
                                        const TensorMap& b, const Shared& shared,
                                        const WorkList& list) {
  const Seat& seat = list.seat;
  const Caching caching_a = caching_with(kEvictionA), caching_b = caching_with(kEvictionB);
  Ring ring;
  for (int index = list.first; index < list.count; index += list.apart) {
    const Work work = work_at(list, index);
    const int entry_a = arguments.batch_stride_a == 0 ? 0 : work.entry;
    const int entry_b = arguments.batch_stride_b == 0 ? 0 : work.entry;
#pragma unroll 1
    for (int tile = 0; tile < work.tiles_of_k; ++tile) {
      const int k0 = (work.first_k + tile) * kBlockK;
      const unsigned barrier = kTurns ? landed(shared, ring.stage) : full(shared, ring.stage);
      wait(empty(shared, ring.stage), ring.parity ^ 1);
      arrive_expecting(barrier, kTileBytesA + kTileBytesB);
      load_tile(kLoadedA, kClusterN, seat.n, row_mates(seat), a, tile_a(shared, ring.stage),
                barrier, work.m0, k0, entry_a, caching_a);
      load_tile(kLoadedB, kClusterM, seat.m, column_mates(seat), b, tile_b(shared, ring.stage),
                barrier, work.n0, k0, entry_b, caching_b);
      advance(ring);
    }
  }
  // No block ends while another one of its cluster may still write to its memory or arrive there:
  // all that has been loaded must have been released.
  for (int stage = 0; kCluster > 1 && stage < kStages; ++stage) {
    wait(empty(shared, ring.stage), ring.parity ^ 1);
    advance(ring);
  }
}

// The sums of a work, from row `row` of its tile on. The products of one tile along K still run
// while the next ones are begun, so a stage is released one tile later.
__device__ __forceinline__ void multiply(const Shared& shared, const Loader& loader,
                                         const Work& work, int row, Ring& ring, Sums& sums) {
  int before = 0;
#pragma unroll 1
  for (int tile = 0; tile < work.tiles_of_k; ++tile) {
    wait(full(shared, ring.stage), ring.parity);
    pin_all(sums);
    begin_products();
    multiply_row_blocks(shared, ring.stage, row, tile > 0, 0, kRowBlocks, sums);
    end_products();
    wait_for_products(kInFlight);
    pin_all(sums);
    if (kInFlight == 0) {
      release(loader, ring.stage);
    } else if (tile > 0) {
      release(loader, before);
    }
    before = ring.stage;
    advance(ring);
  }
}

// A consumer warpgroup: its share of every work, or every second work whole.
constexpr int kPingPongBarrier = 8;  // and 9: each consumer waits for its turn on one
__device__ __forceinline__ void consume(const Arguments& arguments, const TensorMap& d,
                                        const Shared& shared, char* memory, int* scratch,
                                        const WorkList& list, int consumer) {
  const int row = kPingPong ? 0 : consumer * kRows;
  Ring ring;
  const Loader loader = loader_of_lane(shared, list.seat);
  Staging staging{shared_address(memory)};
  int number = 0;
  for (int index = list.first; index < list.count; index += list.apart, ++number) {
    const Work work = work_at(list, index);
    const bool is_last = index + list.apart >= list.count;
    if (kPingPong && number % 2 != consumer) {
      advance(ring, work.tiles_of_k);
      continue;
    }
    if (kPingPong && number > 0) {
      sync(kPingPongBarrier + consumer, 2 * kWarpgroup);
    }
    Sums sums;
    if (kSplitK > 1) {
      clear(sums);  // the registers are free until here: slices need them
    }
    if (kPromotes) {
      multiply_promoted(shared, loader, work, row, ring, sums);
    } else if (kRegistersA) {
      multiply_from_registers(shared, loader, work, row, ring, sums);
    } else {
      multiply(shared, loader, work, row, ring, sums);
    }
    if (kPingPong && !is_last) {
      arrive(kPingPongBarrier + 1 - consumer, 2 * kWarpgroup);
    }
    end_multiplying(loader, ring, sums);
    store_work(arguments, d, work, is_last, work.m0 + row, consumer, memory, staging, scratch,
               sums);
  }
}

// ---- 6. The kernel ------------------------------------------------------------------------------
extern "C" __global__ void __cluster_dims__(kCluster, 1, 1) __launch_bounds__(kThreads, 1)
    tunedgemm_wgmma(const __grid_constant__ Arguments arguments,
                    const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                    const __grid_constant__ TensorMap d, const __grid_constant__ GpcShares shares) {
  extern __shared__ __align__(1024) char memory[];
  const Shared shared{shared_address(memory)};
  int* const scratch = reinterpret_cast<int*>(memory + kSharedBytes - kControlBytes / 2);
  const int warpgroup = same_in_warp(threadIdx.x / kWarpgroup);

  if (threadIdx.x == 0) {
    prefetch(a);
    prefetch(b);
    begin_barriers(shared);
  }
  begin_meeting(kCluster);
  Taken taken;
  if (kGpcAware) {
    taken = take_share(arguments, shares);
  } else {
    let_next_kernel_start();
  }
  WorkList list = list_work(arguments);
  if (kPrefetch > 0 && threadIdx.x / 32 == kPrefetcher && is_elected()) {
    prefetch_operands(arguments, a, b, list);
  }
  end_meeting(kCluster);
  if (kGpcAware) {
    list.first = told_share(shared, list.seat.rank, taken.share);
  }

  if (warpgroup == 0) {
    if (kConsumers > 1) {
      keep_registers(kProducerRegisters);
    }
    if (kGpcAware && threadIdx.x == kAsker) {
      end_taking(arguments, shares, taken, list.apart);
    }
    if (threadIdx.x < 32 && is_elected()) {
      wait_for_kernels_before();
      produce(arguments, a, b, shared, list);
    } else if (kTurns && threadIdx.x >= 32) {
      turn(shared, list, threadIdx.x / 32 - 1);
    }
  } else {
    if (kConsumers > 1) {
      take_registers(kConsumerRegisters);
    }
    const int consumer = warpgroup - 1, warp = kSwapAB ? 4 * consumer : threadIdx.x / 32 - 4;
    char* const staging = memory + kRingBytes + warp * kStagingBytes;
    wait_for_kernels_before();
    if (kOverlaps) {
      consume_overlapped(arguments, d, shared, staging, list, consumer);
    } else {
      consume(arguments, d, shared, staging, scratch + consumer, list, consumer);
    }
    if (kTensorStore && threadIdx.x % 32 == 0) {
      wait_until_read(0);
    }
  }
}
