#include "runtime/evaluation/error_bound.h"

#include <algorithm>
#include <cmath>

namespace tunedgemm {
namespace {

// Half the distance between neighbours, relative to the value: f64, f32, and the 14 bits that the
// tensor cores keep of a sum of fp8 products (measured by others on Hopper).
constexpr double kUnitF64 = 0x1p-53;
constexpr double kUnitF32 = 0x1p-24;
constexpr double kUnitFp8Sum = 0x1p-13;
constexpr double kUnitTf32 = 0x1p-11;

// Of a product of two inputs: steps of small types make it more than the 1/3 of real numbers.
constexpr double kDeviation = 0.4;
// The greatest of some 10^8 values that are normally distributed, in standard deviations.
constexpr double kFarthest = 6;

// An activation is taken to be at least this steep.
constexpr double kSlopeMargin = 1.2;

double unit_of(DataType type) {
  switch (type) {
    case DataType::kF64:
      return kUnitF64;
    case DataType::kF32:
      return kUnitF32;
    case DataType::kF16:
      return 0x1p-11;
    case DataType::kBF16:
      return 0x1p-8;
    default:
      return 0;
  }
}

bool sums_in_tensor_cores(const Problem& problem) {
  return problem.a.type == DataType::kF16 || problem.a.type == DataType::kBF16 ||
         problem.numerics == Numerics::kTf32 || is_fp8(problem.a.type);
}

// Of an f64 or f32 sum of K products that is rounded to nearest at every addition: up to K = 8 the
// worst case, then some ten standard deviations.
double rounding_of_sum(double unit, double k) {
  return 8 * unit * (k / 4 + 2 * std::sqrt(k));
}

double error_of_sum(const Problem& problem) {
  const double k = static_cast<double>(problem.k);
  const double deviation = kDeviation * std::sqrt(k);
  if (problem.a.type == DataType::kF64) {
    return rounding_of_sum(kUnitF64, k);
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
  if (problem.a.type == DataType::kF64 || problem.a.type == DataType::kS8) {
    return false;
  }
  constexpr std::int64_t kLongFp8Sum = 1024;
  constexpr std::int64_t kLongSum = 16384;
  return problem.k > (problem.numerics == Numerics::kFast ? kLongFp8Sum : kLongSum);
}

ErrorBound error_bound(const Problem& problem, const Scalars& scalars) {
  if (problem.d.type == DataType::kS32) {
    // Integers are exact; with an epilogue in f64, a value next to a half may round either way.
    const bool sum_alone = problem.activation == Activation::kNone && problem.bias == Bias::kNone &&
                           problem.beta == ScalarClass::kZero && scalars.alpha == 1;
    return {sum_alone ? 0.5 : 1.5, 0};
  }
  const double unit = problem.a.type == DataType::kF64 ? kUnitF64 : kUnitF32;
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
  constexpr double kSmallestF16Step = 0x1p-24;
  const double of_small = problem.d.type == DataType::kF16 ? kSmallestF16Step : 0;
  return {steepest * (of_sum + of_epilogue) + of_activation + of_small,
          1.01 * unit_of(problem.d.type) + (activation.is_long ? 16 * unit : 0)};
}

}  // namespace tunedgemm
