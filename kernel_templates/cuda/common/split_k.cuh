// Split-K: several CTAs compute one tile of D in one launch, each over a slice of K. The result has
// the same bits every time. Each CTA stores its partial tile in the workspace. The partial tiles
// are added in the order of the slices, either by the CTA that arrives last (arrives_last below) or
// by several CTAs of the tile (split_k_reduction.cuh).
//
//   workspace:  64 KiB of counters, one per tile, zero before and after | partial tiles
//               (the last 8 bytes of the counters: ../wgmma/claim_cluster_id.cuh)
#pragma once

#include "../ptx/synchronization.cuh"
#include "group_tiles.cuh"
#include "problem.cuh"

constexpr long long kCounterBytes =
    64 << 10;  // the same for all kernels, which may share the workspace

#ifndef PERSISTENT
#define PERSISTENT 0  // 1: a CTA computes one work tile after another
#endif

// Calls `compute` with the index of each work tile of this CTA. There is a work tile for each tile
// of D and slice of K, over the batch. Without PERSISTENT, the CTA of that number computes it.
template <int kTileM, int kTileN, int kSlices, class Compute>
__device__ __forceinline__ void for_each_work_tile(const Arguments& arguments,
                                                   const Compute& compute) {
  if constexpr (PERSISTENT == 0) {
    compute(static_cast<int>(blockIdx.x));
  } else {
    const auto tiles_m = static_cast<unsigned>(tile_rows<kTileM>(arguments));
    const auto tiles_n = static_cast<unsigned>(tiles_along(arguments.n, kTileN));
    const unsigned work_tiles =
        tiles_m * tiles_n * kSlices * static_cast<unsigned>(tiled_batch(arguments));
    for (unsigned index = blockIdx.x; index < work_tiles; index += gridDim.x) {
      compute(static_cast<int>(index));
      __syncthreads();  // before the next work tile uses the shared memory
    }
  }
}

// The partial tile of a slice. `tile` is the index of the tile of D in the whole batch, and
// `elements` is the size of a partial tile.
__device__ __forceinline__ Accumulator* partial_tile(const Arguments& arguments, long long tile,
                                                     int slice, int split_k, int elements) {
  char* const partials = static_cast<char*>(arguments.workspace) + kCounterBytes;
  return reinterpret_cast<Accumulator*>(partials) + (tile * split_k + slice) * elements;
}

// The threads that share a partial tile: a CTA, or a part of a CTA with its own barrier.
struct ThreadGroup {
  int thread, threads;
  int barrier;  // 0 to 15; __syncthreads uses 0
};
__device__ __forceinline__ void sync(const ThreadGroup& group) {
  sync(group.barrier, group.threads);
}

// All threads of a group call this after they have stored their partial tile. It returns true in
// the group that arrives last. That group can read all partial tiles, and the counter is zero
// again. `shared` is an int in shared memory that has no other use during the call.
__device__ __forceinline__ bool arrives_last(const Arguments& arguments, long long tile,
                                             int split_k, const ThreadGroup& group,
                                             volatile int* shared) {
  __threadfence();  // the partial tile becomes visible before the counter changes
  sync(group);
  if (group.thread == 0) {
    unsigned* const counter = static_cast<unsigned*>(arguments.workspace) + tile;
    const bool last = atomicAdd(counter, 1u) == static_cast<unsigned>(split_k) - 1;
    if (last) {
      *counter = 0;
    }
    __threadfence();
    *shared = last;
  }
  sync(group);
  return *shared != 0;
}
