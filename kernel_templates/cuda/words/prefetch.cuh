// What a kernel can do before its turn (dependent_launch.cuh): have its operands brought from
// memory into the L2 cache. Expects the tiles as constants.
#pragma once

#include "operand_tiles.cuh"
#include "work_list.cuh"

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

// One thread: this block's part of A and B, entry 0, before the kernel's turn. Should the kernels
// before it still write there, the L2 cache sees that.
__device__ __forceinline__ void prefetch_operands(const Arguments& arguments, const TensorMap& a,
                                                  const TensorMap& b, int tiles_of_k) {
  const int along = tiles_along(arguments.m, kBlockM) * tiles_of_k;
  const int all = along + tiles_along(arguments.n, kBlockN) * tiles_of_k;
  for (int index = blockIdx.x; index < all; index += gridDim.x) {
    const bool is_a = index < along;
    const int at = is_a ? index : index - along;
    const int k0 = at % tiles_of_k * kBlockK, tile = at / tiles_of_k;
    if (is_a) {
      prefetch_tile(kLoadedA, kClusterN, a, tile * kBlockM, k0);
    } else {
      prefetch_tile(kLoadedB, kClusterM, b, tile * kBlockN, k0);
    }
  }
}
