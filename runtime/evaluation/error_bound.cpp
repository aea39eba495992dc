#include "runtime/evaluation/error_bound.h"

#include <algorithm>
#include <cmath>

namespace tunedgemm::internal {
namespace {

// Half the distance between neighbours, relative to the value: f32, the 14 bits that the tensor
// cores keep of a sum of fp8 products (measured by others on Hopper), and tf32.
constexpr double kUnitF32 = 0x1p-24;
constexpr double kUnitFp8Sum = 0x1p-13;
constexpr double kUnitTf32 = 0x1p-11;

// Of a product of two inputs: steps of small types make it more than the 1/3 of real numbers.
constexpr double kDeviation = 0.4;
// The greatest of some 10^8 values that are normally distributed, in standard deviations.
constexpr double kFarthest = 6;

DataType accumulator_of(const Problem& problem) {
  return accumulator(problem.a.type, problem.b.type);
}

bool sums_in_tensor_cores(const Problem& problem) {
  return size_bytes(problem.a.type) < size_bytes(DataType::kF32) ||
         problem.numerics == Numerics::kTf32;
}

// Of an f64 or f32 sum of K products that is rounded to nearest at every addition: up to K = 8 the
// worst case, then some ten standard deviations.
double rounding_of_sum(double unit, double k) {
  return 8 * unit * (k / 4 + 2 * std::sqrt(k));
}

double error_of_sum(const Problem& problem) {
  const double k = static_cast<double>(problem.k);
  const double deviation = kDeviation * std::sqrt(k);
  if (accumulator_of(problem) == DataType::kF64) {
    return rounding_of_sum(unit_roundoff(DataType::kF64), k);
  }
  double error = rounding_of_sum(kUnitF32, k);
  if (sums_in_tensor_cores(problem)) {
    // They cut instead of rounding, toward zero, after every 8 products.
    error += kUnitF32 * 2 * (k / 8 + 1) * (kFarthest + 2) * deviation;
  }
  if (problem.numerics == Numerics::kTf32) {
    // Each input is rounded, or cut: then the whole sum shrinks as well.
    error += 2 * kUnitTf32 * (kFarthest + 4) * std::max(deviation, 1.0);
  }
  if (problem.numerics == Numerics::kFast) {
    error += 3 * kUnitFp8Sum * (k / 32 + 1) * (kFarthest + 2) * std::max(deviation, 1.0);
  }
  if (problem.numerics == Numerics::kPromoted) {
    error += 40 * kUnitFp8Sum * std::max(deviation, 1.0);
  }
  return error;
}

// The bounds of what an activation makes of an argument x whose error is at most `error`. They have
// a margin, which is enough for the slopes of gelu.
constexpr double kMargin = 1.2;

ErrorBound bound_of_line(double error, double steepest) {
  return {std::max(kMargin, steepest) * error, 0};
}

// Of y = c x^2, with 2 c = steepest: |c (x + e)^2 - y| <= c (2 |x| e + e^2). Far from zero that is
// more than a constant, so it is told in parts of y: as 2 |x| s <= x^2 + s^2 for every s,
//
//     c (2 |x| e + e^2) <= e / s * y + c e (s + e).
//
// Where s is about as large as most |x|, this is at most twice as much as need be for them.
ErrorBound bound_of_square(double error, double steepest, double unit, double usual) {
  const double e = kMargin * error;
  // The square itself is rounded.
  return {steepest / 2 * e * (usual + e), e / usual + 2 * unit};
}

}  // namespace

bool needs_ternary_inputs(const Problem& problem) {
  if (accumulator_of(problem) != DataType::kF32) {
    return false;
  }
  constexpr std::int64_t kLongFp8Sum = 1024;
  constexpr std::int64_t kLongSum = 16384;
  return problem.k > (problem.numerics == Numerics::kFast ? kLongFp8Sum : kLongSum);
}

ErrorBound error_bound(const Problem& problem, const Scalars& scalars) {
  if (is_integer(problem.d.type)) {
    // Integers are exact; with an epilogue in f64, a value next to a half may round either way.
    const bool sum_alone = problem.activation == Activation::kNone && problem.bias == Bias::kNone &&
                           problem.beta == ScalarClass::kZero && scalars.alpha == 1;
    return {sum_alone ? 0.5 : 1.5, 0};
  }
  const double unit = unit_roundoff(accumulator_of(problem));
  const double scale = std::abs(scalars.alpha * scalars.scale_a * scalars.scale_b);
  const double deviation = std::sqrt(static_cast<double>(problem.k));
  // What the epilogue adds up is at most this, and each of its few steps rounds.
  const double magnitude = scale * kFarthest * deviation + std::abs(scalars.beta) + 1;
  const double of_sum = needs_ternary_inputs(problem) ? 0 : scale * error_of_sum(problem);
  const double of_epilogue = 4 * unit * magnitude;
  const double of_argument = of_sum + of_epilogue;
  const ActivationTraits activation = traits(problem.activation);
  ErrorBound bound = activation.degree == 1 ? bound_of_line(of_argument, activation.steepest)
                                            : bound_of_square(of_argument, activation.steepest,
                                                              unit, magnitude / kFarthest);
  // Long activations may be approximated.
  if (activation.is_long) {
    bound.absolute += 32 * unit * magnitude;
    bound.relative += 16 * unit;
  }
  bound.absolute += smallest_step(problem.d.type);
  bound.relative += 1.01 * unit_roundoff(problem.d.type);
  return bound;
}

}  // namespace tunedgemm::internal
