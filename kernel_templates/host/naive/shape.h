// The numbers that the naive host kernels and their host halves agree on, in plain constexpr C++:
// both include this file.
#pragma once

namespace tunedgemm::internal::naive {

// reordered_mkn: the open sums of a thread.
constexpr int scratch_bytes(int block_n, int accumulator_bytes) {
  return block_n * accumulator_bytes;
}

}  // namespace tunedgemm::internal::naive
