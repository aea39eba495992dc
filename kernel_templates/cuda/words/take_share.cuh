// Neighbouring tiles for neighbouring multiprocessors (by_gpc). Multiprocessors of one GPC that ask
// the L2 cache for the same line at nearly the same time are answered together, so blocks that
// share operands should run on one. Where a block runs is known when it runs: then its cluster
// takes the next share of its GPC or, should that have none left, of another one. There are as many
// shares as clusters, so each finds one. Which one decides nothing but the time.
//
//   the last 128 bytes of the workspace's counters:  clusters that have asked each GPC (kMostGpcs)
//                                                    | clusters that have a share
//
// All are zero again before a launch that may overlap this one can begin: the last cluster that
// takes a share clears them, and only then lets the next kernel start. So this may touch them
// before the kernels before it have ended. Expects kCluster.
#pragma once

#include "arguments.cuh"
#include "async_copy.cuh"
#include "barrier.cuh"
#include "dependent_launch.cuh"
#include "gpc_shares.cuh"
#include "split_k.cuh"
#include "warpgroup.cuh"

static_assert((kMostGpcs + 1) * sizeof(unsigned) <= kShareCounterBytes,
              "there must be room for the counters");
__device__ __forceinline__ unsigned* share_counters(const Arguments& arguments) {
  return reinterpret_cast<unsigned*>(static_cast<char*>(arguments.workspace) + kCounterBytes -
                                     kShareCounterBytes);
}

__device__ __forceinline__ int multiprocessor() {
  int id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

// One thread of a cluster.
__device__ __forceinline__ int take_share(const Arguments& arguments, const GpcShares& shares) {
  int gpc = shares.gpc_of_sm[min(multiprocessor(), kMostSms - 1)];
#pragma unroll 1
  for (int asked = 0; asked < shares.gpcs; ++asked) {
    const unsigned first = shares.first[gpc], end = shares.first[gpc + 1];
    const unsigned before = atomicAdd(share_counters(arguments) + gpc, 1u);
    if (before < end - first) {
      return static_cast<int>(first + before);
    }
    gpc = gpc + 1 < shares.gpcs ? gpc + 1 : 0;
  }
  return blockIdx.x / kCluster;
}

// The asker of every block, later.
__device__ __forceinline__ void end_taking(const Arguments& arguments, const GpcShares& shares,
                                           int rank, int clusters) {
  unsigned* const counters = share_counters(arguments);
  __threadfence();
  if (shares.gpcs > 0 && rank == 0 &&
      atomicAdd(counters + kMostGpcs, 1u) == static_cast<unsigned>(clusters) - 1) {
    __threadfence();
    for (int index = 0; index <= kMostGpcs; ++index) {
      atomicExch(counters + index, 0u);
    }
    __threadfence();
  }
  let_next_kernel_start();
}

// All threads, where the blocks of a cluster meet for the first time: the cluster's share, for
// which a thread of the first block asks. `word` lies at the same place of every block's shared
// memory. wait_for_cluster_to_end() must follow.
constexpr int kAsker = 32;  // of a warp that has nothing else to do yet
__device__ __forceinline__ int meet_and_share(const Arguments& arguments, const GpcShares& shares,
                                              int rank, volatile int* word) {
  if (threadIdx.x == kAsker && rank == 0) {
    *word = take_share(arguments, shares);
    show_to_cluster();
  }
  if (kCluster == 1) {
    __syncthreads();
    return *word;
  }
  meet_cluster();
  const unsigned there = address_in_block(shared_address(const_cast<int*>(word)), 0);
  const int share = same_in_warp(load_word_in_cluster(there));
  let_cluster_end();
  return share;
}
