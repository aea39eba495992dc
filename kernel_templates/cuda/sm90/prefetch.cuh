// What a kernel can do before its turn (dependent_launch.cuh): have the tiles that it multiplies
// first brought from memory into the L2 cache. Expects the tiles, kSplitK and kPrefetch as
// constants.
#pragma once

#include "operand_tiles.cuh"
#include "tile_scheduler.cuh"

// The whole tile, by the map that load_tile() uses.
__device__ __forceinline__ void prefetch_tile(Slabs slabs, int parts, const TensorMap& map,
                                              int at_extent, int at_k) {
  for (int part = 0; part < parts; ++part) {
    const int first = part * (slabs.lines / parts);
#pragma unroll
    for (int slab = 0; slab < slabs.slabs; ++slab) {
      const Corner corner = corner_of(slabs, slab, first, at_extent, at_k);
      prefetch_box(map, corner.x, corner.y, 0);
    }
  }
}

// One thread: what falls to this block of the first kPrefetch tiles along K of every part (where a
// part has fewer, of what follows it), of A and B, entry 0. Should the kernels before it still
// write there, the L2 cache sees that.
constexpr int kPrefetcher = 2;  // a warp that has nothing else to do yet
__device__ __forceinline__ void prefetch_operands(const Arguments& arguments, const TensorMap& a,
                                                  const TensorMap& b, const WorkList& list) {
  constexpr int kTiles = kPrefetch > 0 ? kPrefetch : 1;  // a divisor also where this is not called
  constexpr int kAlongK = kSplitK * kTiles;
  const int along_m = tiles_along(arguments.m, kBlockM),
            along_n = tiles_along(arguments.n, kBlockN);
  for (int index = blockIdx.x; index < (along_m + along_n) * kAlongK; index += gridDim.x) {
    const int tile = index / kAlongK, at_k = index % kAlongK;
    const int k0 = (first_tile_of_part(list, at_k / kTiles) + at_k % kTiles) * kBlockK;
    if (k0 >= arguments.k) {
      continue;
    }
    if (tile < along_m) {
      prefetch_tile(kLoadedA, kClusterN, a, tile * kBlockM, k0);
    } else {
      prefetch_tile(kLoadedB, kClusterM, b, (tile - along_m) * kBlockN, k0);
    }
  }
}
