// Neighbouring tiles for neighbouring multiprocessors (gpc_aware). Multiprocessors of one GPC that ask
// the L2 cache for the same line at nearly the same time are answered together, so blocks that
// share operands should run on one. Where a block runs is known when it runs: then its cluster
// takes the next share of its GPC or, should that have none left, of another one. There are as many
// shares as clusters, so each finds one. Which one decides nothing but the time.
//
//   the last 8 bytes of the workspace's counters, one number:  a byte for each GPC, how many
//                                                              clusters have asked for its shares
//
// It is zero again before a launch that may overlap this one can begin: the cluster that takes the
// last share sees from the number that all are taken, clears it, and only then lets the next kernel
// start. So this may touch it before the kernels before it have ended. Expects kCluster.
#pragma once

#include "../common/arguments.cuh"
#include "../common/split_k.cuh"
#include "../ptx/griddepcontrol.cuh"
#include "../ptx/mbarrier.cuh"
#include "../ptx/warpgroup.cuh"
#include "gpc_cluster_ranges.cuh"
#include "pipeline.cuh"

using Asked = unsigned long long;
static_assert(sizeof(Asked) == kShareCounterBytes, "each GPC must have a byte");
static_assert(kMostSms <= 255, "a byte must count the clusters of a launch");
__device__ __forceinline__ Asked* asked_counter(const Arguments& arguments) {
  return reinterpret_cast<Asked*>(static_cast<char*>(arguments.workspace) + kCounterBytes -
                                  kShareCounterBytes);
}
__device__ __forceinline__ int asked_of(Asked asked, int gpc) {
  return static_cast<int>(asked >> 8 * gpc & 0xff);
}
__device__ __forceinline__ int shares_of(const GpcShares& shares, int gpc) {
  return shares.first[gpc + 1] - shares.first[gpc];
}

__device__ __forceinline__ int multiprocessor() {
  int id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

// Where most shares seem to be left.
__device__ __forceinline__ int gpc_with_most_left(const GpcShares& shares, Asked asked) {
  int gpc = 0, most = 0;
  for (int candidate = 0; candidate < shares.gpcs; ++candidate) {
    const int left = shares_of(shares, candidate) - asked_of(asked, candidate);
    if (left > most) {
      gpc = candidate;
      most = left;
    }
  }
  return gpc;
}

// The asker of a cluster's first block takes a share; where GPCs are not known, that of the
// cluster's number. What other threads get here is not used.
struct Taken {
  int share;
  Asked asked;  // by all clusters until then; 0: this thread has not
};
constexpr int kAsker = 32;  // of a warp that has nothing else to do yet
__device__ __forceinline__ Taken take_share(const Arguments& arguments, const GpcShares& shares) {
  if (threadIdx.x == kAsker && (kCluster == 1 || rank_in_cluster() == 0)) {
    int gpc = shares.gpc_of_sm[min(multiprocessor(), kMostSms - 1)];
#pragma unroll 1
    for (int turn = 0; turn < shares.gpcs; ++turn) {  // none disappoints twice
      const Asked one = Asked{1} << 8 * gpc, before = atomicAdd(asked_counter(arguments), one);
      const int number = asked_of(before, gpc);
      if (number < shares_of(shares, gpc)) {
        return {shares.first[gpc] + number, before + one};
      }
      gpc = gpc_with_most_left(shares, before);
    }
  }
  return {static_cast<int>(blockIdx.x / kCluster), 0};
}

// The asker of every block, later.
__device__ __forceinline__ void end_taking(const Arguments& arguments, const GpcShares& shares,
                                           const Taken& taken, int clusters) {
  int count = 0;
#pragma unroll
  for (int gpc = 0; gpc < kMostGpcs; ++gpc) {
    count += min(asked_of(taken.asked, gpc), shares_of(shares, gpc));
  }
  if (count == clusters) {
    atomicExch(asked_counter(arguments), Asked{0});
    __threadfence();
  }
  let_next_kernel_start();
}

// All threads, when the blocks of the cluster have met: its share, which the asker of the first
// block has taken and sends to all.
__device__ __forceinline__ int told_share(const Shared& shared, int rank, int share) {
  const bool has_taken = threadIdx.x == kAsker && rank == 0;
  if (kCluster == 1) {
    if (has_taken) {
      store_word(share_word(shared), share);
    }
    __syncthreads();
  } else {
    for (int block = 0; has_taken && block < kCluster; ++block) {
      send_word(address_in_block(share_word(shared), block), share,
                address_in_block(share_barrier(shared), block));
    }
    wait(share_barrier(shared), 0);
  }
  return same_in_warp(load_word(share_word(shared)));
}
