// An operand's tile (shape.h) on its way: from global memory to shared memory by TMA, and on to
// wgmma by descriptors.
#pragma once

#include "../ptx/tensor_copy.cuh"
#include "../ptx/wgmma.cuh"
#include "shape.h"

using namespace tunedgemm::internal;

// Where in the matrix the box of an atom column begins, `first` rows into it; x is the contiguous
// dimension. (mn0, k0) is the tile's origin.
struct BoxOrigin {
  int x, y;
};
__device__ __forceinline__ BoxOrigin box_origin(wgmma::SharedTile tile, int atom_column, int first,
                                                int mn0, int k0) {
  const int along = atom_column * (wgmma::kSwizzleBytes / tile.element_bytes);
  return tile.is_k_major ? BoxOrigin{k0 + along, mn0 + first} : BoxOrigin{mn0 + along, k0 + first};
}

// Starts copying a tile. One that `parts` CTAs of the cluster share is cut into as many parts of
// its rows, and each CTA loads one of them for all in `multicast_mask`.
__device__ __forceinline__ void load_tile(wgmma::SharedTile tile, int parts, int part,
                                          unsigned short multicast_mask, const TensorMap& map,
                                          unsigned to, unsigned barrier, int mn0, int k0, int entry,
                                          const CacheHint& hint) {
  const int first = part * (tile.rows / parts);
#pragma unroll
  for (int column = 0; column < tile.atom_columns; ++column) {
    const unsigned box =
        to + column * wgmma::atom_column_bytes(tile) + first * wgmma::kSwizzleBytes;
    const BoxOrigin origin = box_origin(tile, column, first, mn0, k0);
    if (parts > 1) {
      tma_load_multicast(multicast_mask, box, map, barrier, origin.x, origin.y, entry, hint);
    } else {
      tma_load(box, map, barrier, origin.x, origin.y, entry, hint);
    }
  }
}

// Brings all parts of a tile of batch entry 0 to the L2 cache, by the map that load_tile() uses.
__device__ __forceinline__ void prefetch_tile(wgmma::SharedTile tile, int parts,
                                              const TensorMap& map, int mn0, int k0) {
  for (int part = 0; part < parts; ++part) {
    const int first = part * (tile.rows / parts);
#pragma unroll
    for (int column = 0; column < tile.atom_columns; ++column) {
      const BoxOrigin origin = box_origin(tile, column, first, mn0, k0);
      tma_prefetch(map, origin.x, origin.y, 0);
    }
  }
}

// The descriptor of what one step along K, 32 bytes of every row of A (column of B) from `row` on,
// takes from the tile at `address` (descriptor_address).
__device__ __forceinline__ unsigned long long descriptor(wgmma::SharedTile tile, unsigned address,
                                                         int row, int step) {
  constexpr int atom_bytes = wgmma::kSwizzleAtomRows * wgmma::kSwizzleBytes;
  if (tile.is_k_major) {
    const int offset = step / 4 * wgmma::atom_column_bytes(tile) + step % 4 * wgmma::kStepBytes;
    return make_descriptor(address + row * (wgmma::kSwizzleBytes / 16) + offset / 16, atom_bytes,
                           0);
  }
  const int column = row * tile.element_bytes / wgmma::kSwizzleBytes;
  const int offset = step * 2 * atom_bytes;
  return make_descriptor(address + column * (wgmma::atom_column_bytes(tile) / 16) + offset / 16,
                         atom_bytes, wgmma::atom_column_bytes(tile));
}
