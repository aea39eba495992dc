// The numbers on which the naive CPU kernels and the code that launches them agree, in plain
// constexpr C++. Both include this file.
#pragma once

namespace tunedgemm::internal::naive {

// The scratch of a thread of reordered_mkn.cc, in bytes: one accumulator for each of block_n
// columns.
constexpr int scratch_bytes(int block_n, int accumulator_bytes) {
  return block_n * accumulator_bytes;
}

}  // namespace tunedgemm::internal::naive
