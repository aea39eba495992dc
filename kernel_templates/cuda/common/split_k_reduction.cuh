// Where K is split, several teams of threads hold sums of the same tile of D. They are added in one
// launch and with the same bits every time, whichever teams run at the same time: each stores its
// part in the workspace. When all have, the tile is cut into slices, and whoever is there takes one
// after the other, adds its parts in their order, and stores it: the team that came last, and those
// that waited for it. Nobody waits for long, so nobody waits for a team that has no room to run;
// the one that comes last never waits.
//
//   a word a tile, zero before and after:  slices taken | teams gone | teams arrived
//                                          bits 20..31    10..19       0..9
//
//   ... store the part ...
//   int slice = begin_adding(tile, waits);
//   for (; slice < kSlices; slice = next_slice(tile)) {
//     ... add the slice's parts, store it ...
//   }
//
// Expects kSplitK and kSlices as constants.
#pragma once

#include "split_k.cuh"

constexpr unsigned kArrived = 1, kGone = 1 << 10, kTaken = 1 << 20;
static_assert(kSplitK < 1024 && kSlices + kSplitK < 4096,
              "split_k must be less than 1024, and less than 4096 with the slices of a tile");
__device__ __forceinline__ bool all_have_arrived(unsigned word) {
  return word % kGone / kArrived == kSplitK;
}
// All teams but one have left: by going, or by taking a slice that is not there.
__device__ __forceinline__ bool others_have_left(unsigned word) {
  const int taken = word / kTaken;
  return max(taken - kSlices, 0) + word % kTaken / kGone == kSplitK - 1;
}

// What a team knows of the tile.
struct TileOfParts {
  unsigned* word;
  Accumulator* partials;
  ThreadGroup team;
  volatile int* shared;  // an int that nobody else uses at this time
};
// `unit` counts the tiles of the whole batch; `elements` are those of one.
__device__ __forceinline__ TileOfParts tile_of_parts(const Arguments& arguments, long long unit,
                                                     int elements, const ThreadGroup& team,
                                                     volatile int* shared) {
  return {static_cast<unsigned*>(arguments.workspace) + unit,
          partial_tile(arguments, unit, 0, kSplitK, elements), team, shared};
}

// One thread.
__device__ __forceinline__ int take_slice(const TileOfParts& tile) {
  const unsigned word = atomicAdd(tile.word, kTaken);
  const int slice = word / kTaken;
  if (slice >= kSlices && others_have_left(word)) {
    *tile.word = 0;
  }
  return min(slice, kSlices);
}
// One thread, that of a team whose part is stored.
constexpr int kMostLooks = 16;  // each takes a way to the L2 cache and back
__device__ __forceinline__ int arrive_and_take_slice(const TileOfParts& tile, bool waits) {
  unsigned word = atomicAdd(tile.word, kArrived) + kArrived;
  for (int look = 0; waits && look < kMostLooks && !all_have_arrived(word); ++look) {
    word = *static_cast<volatile unsigned*>(tile.word);
  }
  if (all_have_arrived(word)) {
    return take_slice(tile);
  }
  if (others_have_left(atomicAdd(tile.word, kGone))) {
    *tile.word = 0;
  }
  return kSlices;
}

// Below: by all threads of a team. The slice that it is to add, or kSlices if there is none for it.
__device__ __forceinline__ int next_slice(const TileOfParts& tile) {
  if (tile.team.thread == 0) {
    *tile.shared = take_slice(tile);
  }
  sync(tile.team);
  const int slice = *tile.shared;
  sync(tile.team);
  return slice;
}
// The first one, when the team has stored its part.
__device__ __forceinline__ int begin_adding(const TileOfParts& tile, bool waits) {
  __threadfence();  // what this thread has stored is seen before the word changes
  sync(tile.team);
  if (tile.team.thread == 0) {
    *tile.shared = arrive_and_take_slice(tile, waits);
    __threadfence();  // and what the others have stored is seen after it
  }
  sync(tile.team);
  const int slice = *tile.shared;
  sync(tile.team);
  return slice;
}
