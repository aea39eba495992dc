#pragma once

// ErrorBound: the largest error of an element that a correct kernel may produce. The check of
// candidates and the tests of the kernels use the same bound.
//
// Inputs other than integers are uniform in [-1, 1], so an accumulator of K products has a standard
// deviation of sqrt(K) / 3. The rounding errors of its additions have random signs, so the bound
// grows with their standard deviation, not with the worst case. The bound is tight enough to detect
// a missing k tile, a swapped row, or inputs rounded to fewer bits than the numerics allow. For a
// large K the rounding errors of a correct kernel could hide a missing tile. The inputs are then
// -1, 0 and 1, so that every partial result is exact, whatever the order of the additions, and only
// the epilogue may round.

#include "kernel_templates/cuda/reference/tasks.cuh"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// The scalars of a verified multiplication.
struct Scalars {
  double alpha = 1, beta = 0;
  float slope = 0;

  friend bool operator==(const Scalars&, const Scalars&) = default;
};

/// The largest of some 10^8 normally distributed values, in standard deviations.
inline constexpr double kMostDeviations = 6;

/// Whether the inputs of a check of this problem must be -1, 0 and 1.
bool needs_ternary_inputs(const Problem& problem);

/// absolute[0] is greater than 0.
reference::Bound error_bound(const Problem& problem, const Scalars& scalars);

}  // namespace tunedgemm::internal
