#pragma once

// Kernels include this file, so it is plain C++ without the standard library.

#include "../cuda/common/host_device.cuh"

namespace tunedgemm::internal {

/// The f32 factors of A or B. `row` stands for a row of op(A) or a column of op(B). Only fp8 has
/// more than one factor. The numbers cross the C ABI, and fingerprints of kernels depend on them:
/// never renumber.
enum class Scaling : int {
  kTensor = 0,        ///< one for the matrix
  kRow = 1,           ///< one for each row
  kBlock1x128 = 2,    ///< one for every 128 elements of a row, from its first one on
  kBlock128x128 = 3,  ///< one for every 128 rows and 128 elements of each
};

constexpr int kScaledDepth = 128;  // along K, of a block

/// Whether the scale of a row changes along K, so that the sum over K cannot be scaled as a whole.
TUNEDGEMM_CONSTEXPR bool is_of_blocks(Scaling scaling) {
  return scaling == Scaling::kBlock1x128 || scaling == Scaling::kBlock128x128;
}
/// Neighbouring rows with the same scale, unless one scale is for all.
TUNEDGEMM_CONSTEXPR int rows_of_scale(Scaling scaling) {
  return scaling == Scaling::kBlock128x128 ? 128 : 1;
}

}  // namespace tunedgemm::internal
