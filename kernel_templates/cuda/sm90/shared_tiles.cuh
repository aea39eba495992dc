// An operand's tile in shared memory, from the copy that brings it to the product that takes it.
//
// It lies in lines of 128 bytes. If the operand's lines follow K in global memory, a line holds a
// part of a row of A (a column of B) along K; otherwise it holds neighbouring rows (columns) at one
// k. Lines below each other are a slab, slabs follow each other:
//
//   lines follow K:  a line for each row; as many slabs as 128 bytes go into block_k
//   they do not:     block_k lines; as many slabs as it takes to hold all rows, the last in part
#pragma once

#include "../ptx/tensor_copy.cuh"
#include "../ptx/wgmma.cuh"

constexpr int kLine = 128;  // bytes

struct Slabs {
  bool lines_follow_k;
  int slabs, lines, element_bytes;
};
// `extent` rows of A (columns of B).
__host__ __device__ constexpr Slabs make_slabs(int extent, int block_k, int element_bytes,
                                               bool lines_follow_k) {
  return {lines_follow_k, ((lines_follow_k ? block_k : extent) * element_bytes + kLine - 1) / kLine,
          lines_follow_k ? extent : block_k, element_bytes};
}
// What the same memory holds when the lines of its square slabs have been turned (turn.cuh).
__host__ __device__ constexpr Slabs turned(Slabs slabs) {
  return {!slabs.lines_follow_k, 1, slabs.slabs * kLine / slabs.element_bytes, slabs.element_bytes};
}
__host__ __device__ constexpr int slab_bytes(Slabs slabs) {
  return slabs.lines * kLine;
}
__host__ __device__ constexpr int tile_bytes(Slabs slabs) {
  return slabs.slabs * slab_bytes(slabs);
}

// Where in the matrix a slab's box begins, `first` lines into the slab; x is counted along the
// lines.
struct Corner {
  int x, y;
};
__device__ __forceinline__ Corner corner_of(Slabs slabs, int slab, int first, int at_extent,
                                            int at_k) {
  const int along = slab * (kLine / slabs.element_bytes);
  return slabs.lines_follow_k ? Corner{at_k + along, at_extent + first}
                              : Corner{at_extent + along, at_k + first};
}

// Starts copying an operand's tile. A tile that blocks of the cluster share is cut into parts of
// its lines, and each block loads one of them for all: `sharers` has their bits.
__device__ __forceinline__ void load_tile(Slabs slabs, int parts, int part, unsigned short sharers,
                                          const TensorMap& map, unsigned to, unsigned barrier,
                                          int at_extent, int at_k, int entry,
                                          const Caching& caching) {
  const int first = part * (slabs.lines / parts);
#pragma unroll
  for (int slab = 0; slab < slabs.slabs; ++slab) {
    const unsigned place = to + slab * slab_bytes(slabs) + first * kLine;
    const Corner corner = corner_of(slabs, slab, first, at_extent, at_k);
    if (parts > 1) {
      load_box_for(sharers, place, map, barrier, corner.x, corner.y, entry, caching);
    } else {
      load_box(place, map, barrier, corner.x, corner.y, entry, caching);
    }
  }
}

// The descriptor of what one step along K, 32 bytes of every row or column, takes from a tile,
// which begins at `place` (place_of). Swizzled units are 8 lines.
__device__ __forceinline__ unsigned long long descriptor(Slabs slabs, unsigned place, int row,
                                                         int step) {
  constexpr int unit = 8 * kLine;
  if (slabs.lines_follow_k) {
    const int further = step / 4 * slab_bytes(slabs) + step % 4 * 32;
    return make_descriptor(place + row * (kLine / 16) + further / 16, unit, 0);
  }
  const int slab = row * slabs.element_bytes / kLine, further = step * 2 * unit;
  return make_descriptor(place + slab * (slab_bytes(slabs) / 16) + further / 16, unit,
                         slab_bytes(slabs));
}
