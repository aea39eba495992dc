// An operand's tile (shape.h): the TMA copies that load it to shared memory, and the descriptors
// from which wgmma reads it.
#pragma once

#include "../common/groups.cuh"
#include "../ptx/tensor_copy.cuh"
#include "../ptx/wgmma.cuh"
#include "shape.h"

using namespace tunedgemm::internal;

// An operand in global memory, whose tiles a cluster loads. If several CTAs share a tile, its rows
// are divided among them: each CTA loads one part and multicasts it to all.
struct TmaOperand {
  wgmma::SharedTile tile;
  const TensorMap& map;
  int batch_index;
  int parts, part;  // the number of CTAs that share a tile; the part that this CTA loads
  CacheHint hint{EvictionPriority::kNormal};
  int end_k = 0;  // of groups along K, which divide the lines of MN-major operands

  // A box is an atom column of a part.
  template <bool kIsRagged>
  __device__ __forceinline__ auto tensor_box(int mn0, int k0, int atom_column,
                                             int first_row) const {
    const int offset = atom_column * (wgmma::kSwizzleBytes / tile.element_bytes);
    if constexpr (kIsRagged) {
      return RaggedBox{map, mn0 + offset, k0 + first_row, end_k};
    } else {
      return tile.is_k_major ? TensorBox{map, k0 + offset, mn0 + first_row, batch_index}
                             : TensorBox{map, mn0 + offset, k0 + first_row, batch_index};
    }
  }

  // Starts to copy this CTA's part of a tile to the tile at address `to`.
  __device__ __forceinline__ void load_tile(unsigned to, unsigned barrier, int mn0, int k0,
                                            unsigned short multicast_mask) const {
    const int first_row = part * (tile.rows / parts);
#pragma unroll
    for (int column = 0; column < tile.atom_columns; ++column) {
      const unsigned box =
          to + column * wgmma::atom_column_bytes(tile) + first_row * wgmma::kSwizzleBytes;
      const auto from = tensor_box<kGroupsDepth>(mn0, k0, column, first_row);
      if (parts > 1) {
        tma_load_multicast(box, from, barrier, multicast_mask, hint);
      } else {
        tma_load(box, from, barrier, hint);
      }
    }
  }

  // Brings all parts of a tile to the L2 cache.
  __device__ __forceinline__ void prefetch_tile(int mn0, int k0) const {
    for (int one = 0; one < parts; ++one) {
      const int first_row = one * (tile.rows / parts);
#pragma unroll
      for (int column = 0; column < tile.atom_columns; ++column) {
        tma_prefetch(tensor_box<false>(mn0, k0, column, first_row));
      }
    }
  }
};

// An operand in shared memory, as wgmma reads it.
struct SharedOperand {
  wgmma::SharedTile tile;
  unsigned address;  // descriptor_address() of the tile
};

// The descriptor for one step along K, i.e. 32 bytes of each row of A (column of B). `row` is the
// first row (column).
__device__ __forceinline__ unsigned long long descriptor(SharedOperand operand, int row, int step) {
  constexpr int atom_bytes = wgmma::kSwizzleAtomRows * wgmma::kSwizzleBytes;
  const auto& [tile, address] = operand;
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
