// The numbers on which the naive kernels and their host code agree, in plain constexpr C++. Both
// include this file.
#pragma once

#include "../common/host_device.cuh"

namespace tunedgemm::internal::naive {

constexpr int kRegisters = 40;  // of a thread, approximately

// naive_2d: the threads of a CTA, one per element of D.
constexpr int kBlockM = 8, kBlockN = 32;

// row_shared: a chunk of a row of A, in the accumulator's type.
TUNEDGEMM_CONSTEXPR int row_shared_bytes(int chunk, int accumulator_bytes) {
  return chunk * accumulator_bytes;
}

// tiled_shared: a tile of A and a tile of B, in the accumulator's type. Rows are padded by one
// element, so that threads that write a column use different banks.
TUNEDGEMM_CONSTEXPR int tile_threads(int tile) {
  return tile * tile;
}
TUNEDGEMM_CONSTEXPR int tile_pitch(int tile) {
  return tile + 1;
}
TUNEDGEMM_CONSTEXPR int tiled_shared_bytes(int tile, int accumulator_bytes) {
  return 2 * tile * tile_pitch(tile) * accumulator_bytes;
}

}  // namespace tunedgemm::internal::naive
