#include "runtime/evaluation/error_bound.h"

#include <algorithm>
#include <cmath>

namespace tunedgemm {
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

// An activation is taken to be at least this steep.
constexpr double kSlopeMargin = 1.2;

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
  const ActivationTraits& activation = traits(problem.activation);
  const double steepest = std::max(kSlopeMargin, activation.steepest);
  // Long activations may be approximated.
  const double of_activation = activation.is_long ? 32 * unit * magnitude : 0;
  return {steepest * (of_sum + of_epilogue) + of_activation + smallest_step(problem.d.type),
          1.01 * unit_roundoff(problem.d.type) + (activation.is_long ? 16 * unit : 0)};
}

}  // namespace tunedgemm
