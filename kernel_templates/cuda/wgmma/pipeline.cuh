// Pipeline: the stages in shared memory through which the producer passes tiles of A and B to the
// consumers. Producer and consumers use the stages in the same order. Each stage has three
// barriers:
//
//   loaded   TMA has written the tiles, but some must still be transposed
//   full     the tiles can be multiplied, and the scales of their blocks are there
//   empty    the tiles have been multiplied
#pragma once

#include "../ptx/data_movement.cuh"
#include "../ptx/mbarrier.cuh"
#include "shape.h"
#include "tile_scheduler.cuh"

using namespace tunedgemm::internal;

// The shared memory of a CTA. The swizzle requires tiles to begin at multiples of 1024 bytes.
template <wgmma::Shape kShape>
struct alignas(1024) SharedStorage {
  char a[kShape.stages][tile_bytes(kShape.tile_a())];
  char b[kShape.stages][tile_bytes(kShape.tile_b())];
  char epilogue[4 * kShape.consumers * kShape.epilogue_bytes_of_warp()];  // of all consumer warps
  float scales[kShape.scale_bytes() / 4 + 1];  // of blocks; C++ has no empty array
  GroupEntry groups[kShape.group_bytes() / wgmma::kGroupEntryBytes + 1];
  Barrier full[kShape.stages], empty[kShape.stages], loaded[kShape.stages];
  Barrier cluster_id_sent;  // for gpc_aware
  int cluster_id;
  alignas(wgmma::kControlBytes / 2) int reduction[kShape.consumers];  // for split_k_reduction.cuh
};

// SharedStorage as addresses in the shared state space, for PTX instructions.
template <wgmma::Shape kShape>
struct SharedMemory {
  using Storage = SharedStorage<kShape>;
  static_assert(sizeof(Storage) == kShape.shared_bytes(), "shape.h must count what is stored here");
  unsigned base;

  __device__ __forceinline__ unsigned a(int stage) const {
    return address(&Storage::a) + stage * tile_bytes(kShape.tile_a());
  }
  __device__ __forceinline__ unsigned b(int stage) const {
    return address(&Storage::b) + stage * tile_bytes(kShape.tile_b());
  }
  // The scales of the tile's rows, and those of its columns (block_scales.cuh).
  __device__ __forceinline__ unsigned scales_a(int stage) const {
    return address(&Storage::scales) + stage * 4 * kShape.scales_of_stage();
  }
  __device__ __forceinline__ unsigned scales_b(int stage) const {
    return scales_a(stage) + 4 * kShape.block_m;
  }
  __device__ __forceinline__ unsigned full(int stage) const {
    return address(&Storage::full) + stage * kBarrierBytes;
  }
  __device__ __forceinline__ unsigned empty(int stage) const {
    return address(&Storage::empty) + stage * kBarrierBytes;
  }
  __device__ __forceinline__ unsigned loaded(int stage) const {
    return address(&Storage::loaded) + stage * kBarrierBytes;
  }
  __device__ __forceinline__ unsigned cluster_id_sent() const {
    return address(&Storage::cluster_id_sent);
  }
  __device__ __forceinline__ unsigned cluster_id() const { return address(&Storage::cluster_id); }

  // NVRTC has no offsetof.
  template <class Member>
  __device__ __forceinline__ unsigned address(Member Storage::*member) const {
    const auto* const storage = static_cast<const Storage*>(nullptr);
    return base + static_cast<unsigned>(reinterpret_cast<unsigned long long>(&(storage->*member)));
  }
};

// One thread calls this, before others use the barriers.
template <wgmma::Shape kShape>
__device__ __forceinline__ void init_barriers(const SharedMemory<kShape>& shared) {
  // The number of consumer warps in all CTAs that receive a part of A or B from this CTA.
  constexpr int kReaders =
      4 * kShape.consumers_of_tile() * (kShape.cluster_m + kShape.cluster_n - 1);
  constexpr int kWriters = (kShape.transposes() ? wgmma::kCompletingWarps : 1) +
                           (kShape.has_block_scales ? 32 * wgmma::kCompletingWarps : 0);
  for (int stage = 0; stage < kShape.stages; ++stage) {
    init_barrier(shared.full(stage), kWriters);
    init_barrier(shared.loaded(stage), 1);
    init_barrier(shared.empty(stage), kReaders);
  }
}

// The next stage, and the parity of the phase of its barriers.
template <int kStages>
struct PipelineState {
  int stage = 0;
  unsigned phase = 0;

  __device__ __forceinline__ int previous_stage() const {
    return stage == 0 ? kStages - 1 : stage - 1;
  }
  __device__ __forceinline__ void advance() {
    ++stage;
    const bool wraps = stage == kStages;
    stage = wraps ? 0 : stage;
    phase ^= wraps;
  }
  __device__ __forceinline__ void advance(int k_tiles) {
    const int next = stage + k_tiles;
    *this = {next % kStages, phase ^ (next / kStages & 1)};
  }
};

// A consumer warp releases a stage. Several CTAs may load parts of the stage's tiles. For each of
// these CTAs, one lane of the warp arrives on the stage's empty barrier in that CTA.
template <wgmma::Shape kShape>
struct StageRelease {
  unsigned empty;  // the barrier of stage 0 on which this lane arrives; 0: none

  __device__ __forceinline__ void release(int stage) const {
    if (empty != 0) {
      arrive_remote(empty + stage * kBarrierBytes);
    }
  }
};
template <wgmma::Shape kShape>
__device__ __forceinline__ StageRelease<kShape> stage_release_of_lane(
    const SharedMemory<kShape>& shared, const ClusterCoordinate& cta) {
  const int lane = threadIdx.x % 32;
  const bool arrives = lane < kShape.cluster_size() &&
                       (lane % kShape.cluster_m == cta.m || lane / kShape.cluster_m == cta.n);
  return {arrives ? address_in_cta(shared.empty(0), lane) : 0};
}
