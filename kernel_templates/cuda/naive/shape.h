// The shared memory of the naive kernels that use it, in plain constexpr C++ for kernel and host.
#pragma once

#include "../common/host_device.cuh"

namespace tunedgemm::naive {

// row_shared: a chunk of the row of A, in accumulators.
TUNEDGEMM_CONSTEXPR long long row_shared_bytes(int chunk, int accumulator_bytes) {
  return static_cast<long long>(chunk) * accumulator_bytes;
}

// tiled_shared: a tile of A and one of B, in accumulators. A row has one element more than is used,
// so that the threads that write a column use different banks.
TUNEDGEMM_CONSTEXPR int tile_pitch(int tile) {
  return tile + 1;
}
TUNEDGEMM_CONSTEXPR long long tiled_shared_bytes(int tile, int accumulator_bytes) {
  return 2LL * tile * tile_pitch(tile) * accumulator_bytes;
}

}  // namespace tunedgemm::naive
