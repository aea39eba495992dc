// Several blocks compute one tile of D, each over a part of K. In one launch and with the same bits
// every time: each stores its partial tile in the workspace, and the last to arrive adds all of
// them in the order of the parts, whichever came first; or others help it (parts.cuh).
//
//   workspace:  64 KiB of counters, one a tile, zero before and after | partial tiles
//               (the last 8 bytes of the counters: take_share.cuh)
#pragma once

#include "../ptx/named_barrier.cuh"
#include "problem.cuh"

constexpr long long kCounterBytes = 64 << 10;  // the same for all kernels, which may share them

// The partial tile of a part. `tile` is counted over the whole batch; `elements` are those of a
// tile.
__device__ __forceinline__ Accumulator* partial_tile(const Arguments& arguments, long long tile,
                                                     int part, int split_k, int elements) {
  char* const partials = static_cast<char*>(arguments.workspace) + kCounterBytes;
  return reinterpret_cast<Accumulator*>(partials) + (tile * split_k + part) * elements;
}

// The threads that have a partial tile together: a block, or a part of one with a barrier of its
// own.
struct Team {
  int thread, threads;
  int barrier;  // 0 to 15; 0 is the one of __syncthreads
};
__device__ __forceinline__ void meet(const Team& team) {
  meet(team.barrier, team.threads);
}

// Called by all threads of a team when they have stored their part; true in the team that comes
// last. From then on all parts can be read, and the counter is zero again. `shared` is an int that
// nobody else uses at this time.
__device__ __forceinline__ bool arrives_last(const Arguments& arguments, long long tile,
                                             int split_k, const Team& team, volatile int* shared) {
  __threadfence();  // what this thread has stored is seen before the counter moves
  meet(team);
  if (team.thread == 0) {
    unsigned* const counter = static_cast<unsigned*>(arguments.workspace) + tile;
    const bool last = atomicAdd(counter, 1u) == static_cast<unsigned>(split_k) - 1;
    if (last) {
      *counter = 0;
    }
    __threadfence();
    *shared = last;
  }
  meet(team);
  return *shared != 0;
}
