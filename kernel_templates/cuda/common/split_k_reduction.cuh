// Split-K reduction by several thread groups. Each group holds the accumulators of one slice of K
// of the same tile of D. The groups add the slices in the same launch. The result always has the
// same bits, in whatever order the groups run. Each group stores its partial tile in the workspace.
// After the last group has arrived, the tile is divided into reduction chunks. The last group, and
// the groups that still wait for it, take one chunk after another. For each chunk, a group adds the
// slices in order and stores the sum. A group waits only for a short time, because the groups that
// it waits for may not start before it ends. The last group never waits.
//
//   one counter per tile, zero before and after:  chunks taken | groups gone | groups arrived
//                                                 bits 20..31    10..19        0..9
//
//   const auto reduction = split_k_reduction<split_k, chunks>(...);
//   ... store the slice's partial tile ...
//   int chunk = reduction.begin(waits);
//   for (; chunk < chunks; chunk = reduction.next_chunk()) {
//     ... add the chunk's slices, store it ...
//   }
#pragma once

#include "split_k.cuh"

// A thread group's part in the reduction of a tile.
template <int kSlices, int kChunks>
struct SplitKReduction {
  static constexpr unsigned kArrived = 1, kGone = 1 << 10, kTaken = 1 << 20;
  static constexpr int kMostLooks = 16;  // each takes a round trip to the L2 cache
  static_assert(kSlices < 1024 && kChunks + kSlices < 4096,
                "split_k must be less than 1024, and less than 4096 with the chunks of a tile");

  unsigned* counter;
  Accumulator* partial_tiles;
  ThreadGroup group;
  volatile int* shared;  // an int in shared memory without other use

  // All threads of a group call this after they have stored their partial tile. It returns the
  // chunk that the group must add, or kChunks if there is none.
  __device__ __forceinline__ int begin(bool waits) const {
    __threadfence();  // the partial tile becomes visible before the counter changes
    sync(group);
    if (group.thread == 0) {
      *shared = arrive_and_take_chunk(waits);
      __threadfence();  // makes the partial tiles of the other groups visible
    }
    sync(group);
    const int chunk = *shared;
    sync(group);
    return chunk;
  }
  // The next chunk, or kChunks.
  __device__ __forceinline__ int next_chunk() const {
    if (group.thread == 0) {
      *shared = take_chunk();
    }
    sync(group);
    const int chunk = *shared;
    sync(group);
    return chunk;
  }

  // The functions below are called by one thread of the group.
  __device__ __forceinline__ static bool all_have_arrived(unsigned count) {
    return count % kGone / kArrived == kSlices;
  }
  // Whether every other group has left, because it gave up waiting or asked when no chunk remained.
  __device__ __forceinline__ static bool others_have_left(unsigned count) {
    const int taken = count / kTaken;
    return max(taken - kChunks, 0) + count % kTaken / kGone == kSlices - 1;
  }
  __device__ __forceinline__ int take_chunk() const {
    const unsigned count = atomicAdd(counter, kTaken);
    const int chunk = count / kTaken;
    if (chunk >= kChunks && others_have_left(count)) {
      *counter = 0;
    }
    return min(chunk, kChunks);
  }
  __device__ __forceinline__ int arrive_and_take_chunk(bool waits) const {
    unsigned count = atomicAdd(counter, kArrived) + kArrived;
    for (int look = 0; waits && look < kMostLooks && !all_have_arrived(count); ++look) {
      count = *static_cast<volatile unsigned*>(counter);
    }
    if (all_have_arrived(count)) {
      return take_chunk();
    }
    if (others_have_left(atomicAdd(counter, kGone))) {
      *counter = 0;
    }
    return kChunks;
  }
};

// `tile` is the index of the tile of D in the whole batch, `elements` is the size of a partial
// tile, and `shared` points to an int in shared memory.
template <int kSlices, int kChunks>
__device__ __forceinline__ SplitKReduction<kSlices, kChunks> split_k_reduction(
    const Arguments& arguments, long long tile, int elements, const ThreadGroup& group,
    volatile int* shared) {
  return {static_cast<unsigned*>(arguments.workspace) + tile,
          partial_tile(arguments, tile, 0, kSlices, elements), group, shared};
}
