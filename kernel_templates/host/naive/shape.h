// The numbers on which the naive CPU kernels and the code that launches them agree, in plain
// constexpr C++. Both include this file.
#pragma once

namespace tunedgemm::internal::naive {

// reordered_mkn: a thread's accumulators.
constexpr int scratch_bytes(int block_n, int accumulator_bytes) {
  return block_n * accumulator_bytes;
}

}  // namespace tunedgemm::internal::naive
