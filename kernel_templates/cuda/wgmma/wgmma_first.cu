// ---- 1. What this kernel computes ---------------------------------------------------------------
//
//   D = A * B        bf16, accumulated in f32, on Hopper's tensor cores (sm_90a)
//
// Read ../mma/kernel.cu first. This is the smallest kernel with the structure of kernel.cu. Rows of
// A and columns of B are contiguous and aligned to 16 bytes; M, N and K are any. Read the entry
// first, at the end, then produce(), multiply() and store().
//
//    producer, 1 thread          full[s]: the tiles are there       consumers, 2 warpgroups
//   +---------------------+     +---+---+---+---+  4 stages, each  +------------------------------+
//   | wait for empty[s]   | TMA | s | s | s | s |  a tile of A     | wait for full[s]             |
//   | load A and B into s | --> |   |   |   |   |  and one of B    | accumulators += A * B from s |
//   | s = next stage      |     +---+---+---+---+                  | arrive at empty[s]           |
//   +---------------------+     empty[s]: they were multiplied     | after the last k: store D    |
//                                                                  +------------------------------+
//
// TMA         copies a box of a matrix, which a tensor map describes, to shared memory. One thread
//             starts the copy. Elements outside the matrix arrive as zeros, which add nothing to D.
// mbarrier    counts arrivals and bytes. Its phase completes when all of them have arrived.
// phase       one use of a barrier, once per pass through the ring of stages. wait() names it by
//             its parity: 0 in the first pass, 1 in the second, 0 in the third.
// swizzle     TMA permutes the 16-byte chunks of a 128-byte row, differently for each of 8 rows, so
//             that wgmma reads the same columns of 8 rows without bank conflicts.
// descriptor  tells wgmma where an operand is: address, swizzle, stride between groups of 8 rows.
// wgmma       a warpgroup, four warps, multiplies 64 rows of A by 128 columns of B asynchronously.
// fence       orders the threads' accesses to registers before the wgmma that follow it.
// group       the wgmma up to a commit. wait(1) waits for all groups but the latest.
//
// Launch: a grid of ceil(M / 128) by ceil(N / 128), 288 threads, 132096 bytes of shared memory,
// and maps of A and B with boxes of 64 elements along K by 128, in the swizzle mode of 128 bytes.
//
//   nvcc -std=c++20 -arch=sm_90a -cubin kernel_templates/cuda/wgmma/wgmma_first.cu

// ---- 2. Knobs -----------------------------------------------------------------------------------
#include "../common/arguments.cuh"
#include "../ptx/data_movement.cuh"
#include "../ptx/mbarrier.cuh"
#include "../ptx/tensor_copy.cuh"
#include "../ptx/warpgroup.cuh"
#include "../ptx/wgmma.cuh"

#ifndef TYPE_D
#define TYPE_D f32  // or bf16
#endif
using TypeD = TYPE_D;
constexpr int kBlockM = 128, kBlockN = 128, kBlockK = 64;
constexpr int kStages = 4, kConsumers = 2, kThreads = kConsumers * kWarpgroup + 32;
constexpr int kWgmmaM = 64, kWgmmaK = 16;  // of one instruction; its N is kBlockN
DEFINE_WGMMA(128, 0, 0)

// ---- 3. What must hold --------------------------------------------------------------------------
static_assert(kBlockM == kConsumers * kWgmmaM, "each consumer has 64 rows of the tile");
static_assert(kBlockK * sizeof(bf16) == 128, "a row of a tile in shared memory is one swizzle row");

// The swizzle repeats every 8 rows of 128 bytes, so tiles begin at multiples of 1024 bytes.
struct alignas(1024) SharedStorage {
  bf16 a[kStages][kBlockM * kBlockK];
  bf16 b[kStages][kBlockN * kBlockK];
  Barrier full[kStages], empty[kStages];
};
static_assert(sizeof(SharedStorage) == 132096, "the host launches with this much shared memory");

// ---- 4. Mainloop --------------------------------------------------------------------------------
// One thread loads the k tiles, up to kStages ahead of the consumers. In the first pass all stages
// are empty, and on a new barrier a wait for parity 1 returns at once.
__device__ __forceinline__ void produce(const TensorMap& map_a, const TensorMap& map_b, int m0,
                                        int n0, int k_tiles, SharedStorage& shared) {
  const CacheHint hint{EvictionPriority::kNormal};
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    const int stage = k_tile % kStages, phase = k_tile / kStages % 2, k0 = k_tile * kBlockK;
    const unsigned full = shared_address(&shared.full[stage]);
    wait(shared_address(&shared.empty[stage]), phase ^ 1);
    arrive_expect_tx(full, sizeof shared.a[stage] + sizeof shared.b[stage]);
    tma_load(shared_address(shared.a[stage]), TensorBox{map_a, k0, m0, 0}, full, hint);
    tma_load(shared_address(shared.b[stage]), TensorBox{map_b, k0, n0, 0}, full, hint);
  }
}

__device__ __forceinline__ unsigned long long descriptor(const bf16* rows) {
  return make_descriptor(descriptor_address(shared_address(rows)), 8 * 128, 0);
}

// The wgmma of a k tile still run when those of the next one start, so stages are released one k
// tile later. A step along K only adds 32 bytes to the address: the swizzle depends on the address.
// The first wgmma overwrites the accumulators: if threads cleared them, ptxas would serialize it.
__device__ __forceinline__ void multiply(int k_tiles, int first_row, SharedStorage& shared,
                                         float (&accumulators)[kBlockN / 2]) {
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    const int stage = k_tile % kStages, phase = k_tile / kStages % 2;
    const bf16 *const a = shared.a[stage] + first_row * kBlockK, *const b = shared.b[stage];
    wait(shared_address(&shared.full[stage]), phase);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < kBlockK; k += kWgmmaK) {
      Wgmma<bf16, bf16, kBlockN>::mma_async(k_tile > 0 || k > 0, descriptor(a + k),
                                            descriptor(b + k), accumulators);
    }
    wgmma_commit_group();
    wgmma_wait_group(1);
    if (k_tile > 0 && threadIdx.x % 32 == 0) {
      arrive(shared_address(&shared.empty[(k_tile - 1) % kStages]));
    }
  }
  wgmma_wait_group(0);
  fence_registers(accumulators);  // keeps the compiler from reading them before the wait
}

// ---- 5. Epilogue --------------------------------------------------------------------------------
// ptx/wgmma.cuh has the layout of the accumulators. Threads store single elements, so rows of D may
// have any alignment; kernel.cu is faster, since it arranges D in shared memory for TMA.
__device__ __forceinline__ void store(const Arguments& arguments, int first_row, int n0,
                                      const float (&accumulators)[kBlockN / 2]) {
  const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < kBlockN / 2; ++i) {
    const long long row = first_row + 16 * warp + lane / 4 + i / 2 % 2 * 8;
    const long long column = n0 + lane % 4 * 2 + i / 4 * 8 + i % 2;
    if (row < arguments.m && column < arguments.n) {
      round_to(accumulators[i], static_cast<TypeD*>(arguments.d)[row * arguments.ldd + column]);
    }
  }
}

// ---- 6. Entry -----------------------------------------------------------------------------------
extern "C" __global__ void __launch_bounds__(kThreads, 1)
    tunedgemm_wgmma_first(const __grid_constant__ Arguments arguments,
                          const __grid_constant__ TensorMap map_a,
                          const __grid_constant__ TensorMap map_b) {
  extern __shared__ __align__(1024) char memory[];
  SharedStorage& shared = *reinterpret_cast<SharedStorage*>(memory);
  const int m0 = blockIdx.x * kBlockM, n0 = blockIdx.y * kBlockN;
  const int k_tiles = static_cast<int>((arguments.k + kBlockK - 1) / kBlockK);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      init_barrier(shared_address(&shared.full[stage]), 1);                // the producer
      init_barrier(shared_address(&shared.empty[stage]), kConsumers * 4);  // a lane of each warp
    }
    fence_barrier_init();
  }
  __syncthreads();
  const int warpgroup = warp_uniform(threadIdx.x / kWarpgroup);
  if (warpgroup < kConsumers) {
    const int first_row = warpgroup * kWgmmaM;
    float accumulators[kBlockN / 2];
    multiply(k_tiles, first_row, shared, accumulators);
    store(arguments, m0 + first_row, n0, accumulators);
  } else if (elect_one()) {  // in the last warp
    produce(map_a, map_b, m0, n0, k_tiles, shared);
  }
}
