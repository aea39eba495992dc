// Fragments of f64, for which wgmma has no instruction. The warps of a consumer read them from
// shared memory and multiply them with mma.sync (ptx/mma.cuh).
//
// An instruction sums over 16 k, so any order of k is correct if A and B share it. With g = lane /
// 4 and t = lane % 4, a lane has four elements of row g of A (column g of B). Along k, they are in
// the pairs 0 to 3 of elements if t < 2, else in 4 to 7. Element i is in the (t ^ i)-th of these
// pairs; it is the first of the pair if t is even, else the second. In this order loads have no
// bank conflicts, whether the operand is K-major or MN-major. (TMA moves the v-th 16 bytes of a row
// of shared memory to place v ^ row % 8.)
#pragma once

#include "../ptx/data_movement.cuh"
#include "shape.h"

using namespace tunedgemm::internal;

constexpr int kF64Step = 16;  // elements along k
struct F64Fragment {
  double element[4];
};

// The offset in a tile of a lane's element 0, in the first 8 rows of A (columns of B) of step 0.
__device__ __forceinline__ unsigned f64_offset_of_lane(wgmma::SharedTile tile) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const int k = t / 2 * 8 + t * 2 + t % 2;
  const int row = tile.is_k_major ? g : k, element = tile.is_k_major ? k : g;
  return row * wgmma::kSwizzleBytes + (element / 2 ^ row % 8) * 16 + element % 2 * 8;
}

// Loads a lane's elements of rows `first` to `first` + 7 of A (columns of B). `first` is a multiple
// of 8, `offset` is f64_offset_of_lane(), and `address` is that of the tile.
__device__ __forceinline__ void load_f64(wgmma::SharedTile tile, unsigned address, unsigned offset,
                                         int first, int step, F64Fragment& fragment) {
  // The next vector along k is in another column or, of an MN-major tile, row of shared memory.
  const unsigned next = tile.is_k_major ? 16 : 2 * (wgmma::kSwizzleBytes + 16);
  if (tile.is_k_major) {
    address += step * wgmma::atom_column_bytes(tile) + first * wgmma::kSwizzleBytes;
  } else {
    address += first / 16 * wgmma::atom_column_bytes(tile) + step * kF64Step * wgmma::kSwizzleBytes;
    offset ^= first % 16 * 8;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    fragment.element[i] = load_shared_f64(address + (offset ^ i * next));
  }
}
