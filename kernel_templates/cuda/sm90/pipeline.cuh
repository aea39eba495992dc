// The stages of tiles in shared memory, through which the producer and the consumers pass in the
// same order, and the barriers of each: landed (its tiles have been copied), full (they can be
// multiplied, after turning if need be), empty (they have been). Expects the sizes as constants.
//
//   shared memory:  stages of A | stages of B | places of every consumer warp | barriers, words
#pragma once

#include "../ptx/mbarrier.cuh"
#include "operand_tiles.cuh"
#include "tile_scheduler.cuh"

// A place in the ring of stages, and the parity of the round in which it is.
struct Ring {
  int stage = 0;
  unsigned parity = 0;
};
__device__ __forceinline__ int stage_before(const Ring& ring) {
  return ring.stage == 0 ? kStages - 1 : ring.stage - 1;
}
__device__ __forceinline__ void advance(Ring& ring) {
  if (++ring.stage == kStages) {
    ring = {0, ring.parity ^ 1};
  }
}
__device__ __forceinline__ void advance(Ring& ring, int tiles) {
  const int stage = ring.stage + tiles;
  ring = {stage % kStages, ring.parity ^ (stage / kStages & 1)};
}

// Shared memory, by addresses.
struct Shared {
  unsigned base;
};
__device__ __forceinline__ unsigned tile_a(const Shared& shared, int stage) {
  return shared.base + stage * kTileBytesA;
}
__device__ __forceinline__ unsigned tile_b(const Shared& shared, int stage) {
  return shared.base + kStages * kTileBytesA + stage * kTileBytesB;
}
__device__ __forceinline__ unsigned full(const Shared& shared, int stage) {
  return shared.base + kSharedBytes - kControlBytes + stage * kBarrierBytes;
}
__device__ __forceinline__ unsigned landed(const Shared& shared, int stage) {
  return full(shared, 2 * kStages + stage);
}
__device__ __forceinline__ unsigned empty(const Shared& shared, int stage) {
  return full(shared, kStages + stage);
}

// The cluster's share of the works, where it has to ask for it, and the barrier that tells when it
// is there (take_share.cuh).
__device__ __forceinline__ unsigned share_barrier(const Shared& shared) {
  return full(shared, 3 * kStages);
}
__device__ __forceinline__ unsigned share_word(const Shared& shared) {
  return full(shared, 3 * kStages + 1);
}

__device__ __forceinline__ void begin_barriers(const Shared& shared) {
  // The warps that multiply, of the blocks that load something for this one.
  constexpr int readers = 4 * (kPingPong ? 1 : kConsumers) * (kClusterM + kClusterN - 1);
  for (int stage = 0; stage < kStages; ++stage) {
    begin_barrier(full(shared, stage), kTurns ? kTurners : 1);
    begin_barrier(landed(shared, stage), 1);
    begin_barrier(empty(shared, stage), readers);
  }
  if (kGpcAware && kCluster > 1) {
    begin_barrier(share_barrier(shared), 1);
    arrive_expecting(share_barrier(shared), sizeof(int));
  }
  publish_barriers();
}

// Whom a warp tells that it has multiplied a stage: those blocks of the cluster that load something
// for this one, each told by a lane.
struct Loader {
  unsigned empty;  // its barrier of stage 0; 0: this lane tells nobody
};
__device__ __forceinline__ Loader loader_of_lane(const Shared& shared, const Seat& seat) {
  const int lane = threadIdx.x % 32;
  const bool tells = lane < kCluster && (lane % kClusterM == seat.m || lane / kClusterM == seat.n);
  return {tells ? address_in_block(empty(shared, 0), lane) : 0};
}
__device__ __forceinline__ void release(const Loader& loader, int stage) {
  if (loader.empty != 0) {
    arrive_in_cluster(loader.empty + stage * kBarrierBytes);
  }
}
