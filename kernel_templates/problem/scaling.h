#pragma once

// Kernels include this file, so it is plain C++ without the standard library.

namespace tunedgemm::internal {

/// The f32 factors of A or B: one for the matrix; or M factors, one for each row of op(A), and N,
/// one for each column of op(B). Only fp8 has more than one factor. The numbers cross the C ABI,
/// and fingerprints of kernels depend on them: never renumber.
enum class Scaling : int { kTensor = 0, kRow = 1 };

}  // namespace tunedgemm::internal
