// The numbers on which the naive host kernels and their host halves agree, in plain constexpr C++.
// Both include this file.
#pragma once

namespace tunedgemm::internal::naive {

// reordered_mkn: a thread's accumulators.
constexpr int scratch_bytes(int block_n, int accumulator_bytes) {
  return block_n * accumulator_bytes;
}

}  // namespace tunedgemm::internal::naive
