#include "runtime/evaluation/error_bound.h"

#include <algorithm>
#include <cmath>

namespace tunedgemm::internal {
namespace {

// Unit roundoffs. For fp8, tensor cores keep 14 bits in an accumulator (measured by others on
// Hopper).
constexpr double kUnitF32 = 0x1p-24;
constexpr double kUnitFp8Accumulator = 0x1p-13;
constexpr double kUnitTf32 = 0x1p-11;

// At least the standard deviation of a product of two inputs. It would be 1/3 if inputs were real
// numbers, uniform in [-1, 1]; it is more for small types because of their coarse steps.
constexpr double kDeviation = 0.4;

DataType accumulator_of(const Problem& problem) {
  return accumulator(problem.a.type, problem.b.type);
}

bool accumulates_in_tensor_cores(const Problem& problem) {
  return size_bytes(problem.a.type) < size_bytes(DataType::kF32) ||
         problem.numerics == Numerics::kTf32;
}

// A bound of the error of an f64 or f32 accumulator of K products that is rounded to nearest at
// every addition. For K up to 8 the bound covers the worst case. For larger K it covers about ten
// standard deviations of the error.
double rounding_of_accumulator(double unit, double k) {
  return 8 * unit * (k / 4 + 2 * std::sqrt(k));
}

double error_of_accumulator(const Problem& problem) {
  const double k = static_cast<double>(problem.k);
  const double deviation = kDeviation * std::sqrt(k);
  if (accumulator_of(problem) == DataType::kF64) {
    return rounding_of_accumulator(unit_roundoff(DataType::kF64), k);
  }
  double error = rounding_of_accumulator(kUnitF32, k);
  if (accumulates_in_tensor_cores(problem)) {
    // Tensor cores truncate toward zero after every 8 products.
    error += kUnitF32 * 2 * (k / 8 + 1) * (kMostDeviations + 2) * deviation;
  }
  if (problem.numerics == Numerics::kTf32) {
    // Each input is rounded or truncated; truncation also shrinks the whole accumulator.
    error += 2 * kUnitTf32 * (kMostDeviations + 4) * std::max(deviation, 1.0);
  }
  if (problem.numerics == Numerics::kFast) {
    error +=
        3 * kUnitFp8Accumulator * (k / 32 + 1) * (kMostDeviations + 2) * std::max(deviation, 1.0);
  }
  if (problem.numerics == Numerics::kPromoted) {
    error += 40 * kUnitFp8Accumulator * std::max(deviation, 1.0);
  }
  return error;
}

// bound_of_line() and bound_of_square() bound the error of act(x) if the error of x is at most
// `error`. kMargin covers the slopes of gelu, which exceed 1.
constexpr double kMargin = 1.2;

// What is multiplied by the scale of the sum over K, and what is not.
struct Scaled {
  double constant = 0, of_scale = 0;
};

reference::Bound bound_of_line(const Scaled& error, double steepest) {
  const double slope = std::max(kMargin, steepest);
  return {{slope * error.constant, slope * error.of_scale, 0}, 0};
}

// Let y = c x^2 with c = steepest / 2, and let e bound the error of x. Then |c (x + e)^2 - y| <=
// c (2 |x| e + e^2). For large |x| this exceeds any constant, so part of the bound is relative to
// y. Because 2 |x| s <= x^2 + s^2 for every s > 0,
//
//     c (2 |x| e + e^2) <= e / s * y + c e (s + e).
//
// If s (the parameter `usual`) is about as large as most |x|, the bound is at most twice as large
// as necessary for those x. Both e and s are sums of a constant and a multiple of the scale. So
// their product is a polynomial of the scale, and their quotient is between the two quotients.
reference::Bound bound_of_square(const Scaled& error, double steepest, double unit,
                                 const Scaled& usual) {
  const Scaled e{kMargin * error.constant, kMargin * error.of_scale};
  const Scaled sum{usual.constant + e.constant, usual.of_scale + e.of_scale};
  const double c = steepest / 2;
  const double relative = usual.of_scale > 0
                              ? std::max(e.constant / usual.constant, e.of_scale / usual.of_scale)
                              : e.constant / usual.constant;
  // 2 * unit covers the rounding of the square.
  return {
      {c * e.constant * sum.constant, c * (e.constant * sum.of_scale + e.of_scale * sum.constant),
       c * e.of_scale * sum.of_scale},
      relative + 2 * unit};
}

}  // namespace

bool needs_ternary_inputs(const Problem& problem) {
  if (accumulator_of(problem) != DataType::kF32) {
    return false;
  }
  if (has_block_scales(problem)) {
    return false;  // sums with several scales are not exact in f32
  }
  constexpr std::int64_t kLongFp8K = 1024;
  constexpr std::int64_t kLongK = 16384;
  return problem.k > (problem.numerics == Numerics::kFast ? kLongFp8K : kLongK);
}

reference::Bound error_bound(const Problem& problem, const Scalars& scalars) {
  if (is_integer(problem.d.type)) {
    // Integer accumulators are exact. After an epilogue in f64, a value near a half may round
    // either way.
    const bool plain = problem.activation == Activation::kNone && problem.bias == Bias::kNone &&
                       problem.beta == ScalarClass::kZero && scalars.alpha == 1;
    return {{plain ? 0.5 : 1.5, 0, 0}, 0};
  }
  const double unit = unit_roundoff(accumulator_of(problem));
  const double alpha = std::abs(scalars.alpha);
  const double deviation = std::sqrt(static_cast<double>(problem.k));
  // A bound of the values in the epilogue. The rounding error of each of its few steps is at most
  // `unit` times this bound.
  const Scaled magnitude{std::abs(scalars.beta) + 1, alpha * kMostDeviations * deviation};
  const double accumulator_error =
      needs_ternary_inputs(problem) ? 0 : alpha * error_of_accumulator(problem);
  const Scaled error{4 * unit * magnitude.constant,
                     4 * unit * magnitude.of_scale + accumulator_error};
  const ActivationTraits activation = traits(problem.activation);
  reference::Bound bound = activation.degree == 1
                               ? bound_of_line(error, activation.steepest)
                               : bound_of_square(error, activation.steepest, unit,
                                                 {magnitude.constant / kMostDeviations,
                                                  magnitude.of_scale / kMostDeviations});
  // Kernels may approximate transcendental activations.
  if (activation.is_transcendental) {
    bound.absolute[0] += 32 * unit * magnitude.constant;
    bound.absolute[1] += 32 * unit * magnitude.of_scale;
    bound.relative += 16 * unit;
  }
  bound.absolute[0] += smallest_step(problem.d.type);
  bound.relative += 1.01 * unit_roundoff(problem.d.type);
  return bound;
}

}  // namespace tunedgemm::internal
