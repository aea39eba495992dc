// Assigns neighbouring tiles to neighbouring SMs (gpc_aware). The L2 cache serves SMs of one GPC
// together if they ask for the same line at nearly the same time. CTAs that share operands should
// therefore run on one GPC. A CTA learns its GPC only when it runs. Its cluster then claims the
// next id from the range of that GPC, or of another GPC if that range is used up. There are as many
// ids as clusters, so each cluster finds one. The ids affect the time, not the result.
//
//   the last 8 bytes of the workspace's counters, one number:  a byte for each GPC, which counts
//                                                              the clusters that have claimed an id
//                                                              of its range
//
// The cluster that claims the last id clears the number, and only then lets the next kernel start.
// The next kernel therefore finds zero, even if it starts before this kernel has ended.
#pragma once

#include "../common/arguments.cuh"
#include "../common/split_k.cuh"
#include "../ptx/data_movement.cuh"
#include "../ptx/mbarrier.cuh"
#include "../ptx/special_registers.cuh"
#include "../ptx/synchronization.cuh"
#include "../ptx/warpgroup.cuh"
#include "kernel_parameters.cuh"

using ClaimCounters = unsigned long long;
static_assert(sizeof(ClaimCounters) == kClaimCounterBytes, "each GPC must have a byte");
static_assert(kMostSms <= 255, "a byte must count the clusters of a launch");
__device__ __forceinline__ ClaimCounters* claim_counters(const Arguments& arguments) {
  return reinterpret_cast<ClaimCounters*>(static_cast<char*>(arguments.workspace) + kCounterBytes -
                                          kClaimCounterBytes);
}
__device__ __forceinline__ int claims_of(ClaimCounters claims, int gpc) {
  return static_cast<int>(claims >> 8 * gpc & 0xff);
}
__device__ __forceinline__ int ids_of(const GpcClusterRanges& ranges, int gpc) {
  return ranges.first[gpc + 1] - ranges.first[gpc];
}

// The GPC that has the most ids left according to `claims`.
__device__ __forceinline__ int gpc_with_most_left(const GpcClusterRanges& ranges,
                                                  ClaimCounters claims) {
  int gpc = 0, most = 0;
  for (int candidate = 0; candidate < ranges.gpcs; ++candidate) {
    const int left = ids_of(ranges, candidate) - claims_of(claims, candidate);
    if (left > most) {
      gpc = candidate;
      most = left;
    }
  }
  return gpc;
}

// The claiming thread of a cluster's first CTA claims an id. If the GPCs are not known, it takes
// the cluster id of the launch. The other threads do not use the result.
struct ClaimedClusterId {
  int id;
  ClaimCounters claims;  // the counters, with this claim; 0 if this thread has claimed nothing
};
constexpr int kClaimingThread = 32;  // of a warp that is otherwise idle
template <int kClusterSize>
__device__ __forceinline__ ClaimedClusterId claim_cluster_id(const Arguments& arguments,
                                                             const GpcClusterRanges& ranges) {
  if (threadIdx.x == kClaimingThread && (kClusterSize == 1 || cta_rank_in_cluster() == 0)) {
    int gpc = ranges.gpc_of_sm[min(static_cast<int>(sm_id()), kMostSms - 1)];
#pragma unroll 1
    for (int attempt = 0; attempt < ranges.gpcs; ++attempt) {  // fails if the range is used up
      const ClaimCounters one = ClaimCounters{1} << 8 * gpc;
      const ClaimCounters previous = atomicAdd(claim_counters(arguments), one);
      const int number = claims_of(previous, gpc);
      if (number < ids_of(ranges, gpc)) {
        return {ranges.first[gpc] + number, previous + one};
      }
      gpc = gpc_with_most_left(ranges, previous);
    }
  }
  return {static_cast<int>(blockIdx.x / kClusterSize), 0};
}

// The claiming thread of every CTA calls this after claim_cluster_id().
__device__ __forceinline__ void finish_claim(const Arguments& arguments,
                                             const GpcClusterRanges& ranges,
                                             const ClaimedClusterId& claimed, int clusters) {
  int count = 0;
#pragma unroll
  for (int gpc = 0; gpc < kMostGpcs; ++gpc) {
    count += min(claims_of(claimed.claims, gpc), ids_of(ranges, gpc));
  }
  if (count == clusters) {
    atomicExch(claim_counters(arguments), ClaimCounters{0});
    __threadfence();
  }
  launch_dependents();
}

// All threads call this after the cluster's barrier, with the rank of their CTA. It returns the id
// that the claiming thread of the first CTA has claimed. The id goes through 4 bytes of shared
// memory and, if the cluster has several CTAs, a barrier that expects these bytes.
template <int kClusterSize>
__device__ __forceinline__ int broadcast_cluster_id(int rank, int id, unsigned address,
                                                    unsigned barrier) {
  const bool has_claimed = threadIdx.x == kClaimingThread && rank == 0;
  if (kClusterSize == 1) {
    if (has_claimed) {
      store_shared(address, static_cast<unsigned>(id));
    }
    __syncthreads();
  } else {
    for (int cta = 0; has_claimed && cta < kClusterSize; ++cta) {
      store_remote(address_in_cta(address, cta), id, address_in_cta(barrier, cta));
    }
    wait(barrier, 0);
  }
  return warp_uniform(load_shared(address));
}
