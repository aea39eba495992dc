// The numbers that the naive kernels and their host halves agree on, in plain constexpr C++: both
// include this file.
#pragma once

#include "../common/host_device.cuh"

namespace tunedgemm::internal::naive {

constexpr int kRegisters = 40;  // of a thread, about

// naive_2d: a block of threads, one an element of D.
constexpr int kBlockM = 8, kBlockN = 32;

// row_shared: a chunk of the row of A, in accumulators.
TUNEDGEMM_CONSTEXPR int row_shared_bytes(int chunk, int accumulator_bytes) {
  return chunk * accumulator_bytes;
}

// tiled_shared: a tile of A and one of B, in accumulators. A row has one element more than is used,
// so that the threads that write a column use different banks.
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
