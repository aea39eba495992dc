#pragma once

// ErrorBound: how far a right kernel's element may be from the exact value. The check of every
// candidate and the tests of the kernels use the same one.
//
// Inputs are uniform in [-1, 1], so a sum of K products wanders some sqrt(K) / 3 from zero, and the
// rounding errors of its additions have random signs: the bound grows as they do, not as the worst
// case would. It is tight enough that a k-tile left out, a row exchanged or inputs rounded to fewer
// bits than the numerics allow stand out by far. Where K is so long that the rounding errors of a
// right kernel could hide a missing tile, the inputs are -1, 0 and 1 instead: every partial sum is
// then exact, in any order, and only the epilogue may round.

#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// The scalars of a multiplication whose result is verified.
struct Scalars {
  double alpha = 1, beta = 0;
  float slope = 0;
  double scale_a = 1, scale_b = 1;

  friend bool operator==(const Scalars&, const Scalars&) = default;
};

/// |got - expected| <= absolute + relative * |expected|; absolute is greater than 0.
struct ErrorBound {
  double absolute = 0;
  double relative = 0;
};

/// Whether the inputs of a check of this problem are to be -1, 0 and 1.
bool needs_ternary_inputs(const Problem& problem);

ErrorBound error_bound(const Problem& problem, const Scalars& scalars);

}  // namespace tunedgemm::internal
