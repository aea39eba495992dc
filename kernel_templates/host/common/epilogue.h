// Epilogue: computes D from accumulators, a row of D or a part of a row at a time:
//
//   D = round(act(alpha * scale_a * scale_b * accumulator + beta * C + bias))
//
// D is row-major. If the host has exchanged A and B (swap_ab), it is column-major.
//
// D is computed in f64 if the accumulators are f64 or s32, and in f32 otherwise.
//
// The f32 functions have no branches and no calls, so that the compiler vectorizes the loop over a
// row. The f64 functions call the C library.
#pragma once

#include "../../cuda/common/activation.cuh"
#include "../../cuda/common/arguments.cuh"
#include "problem.h"

// The type of the epilogue's arithmetic: f64 if f32 would lose bits of the accumulators.
inline f64 epilogue_type(f64);
inline f64 epilogue_type(s32);
inline f32 epilogue_type(f32);
using Real = decltype(epilogue_type(Accumulator{}));

// ---- activations --------------------------------------------------------------------------------

// e^x = 2^n * (1 + p): x = n * ln 2 + r with |r| <= ln 2 / 2, and p = e^r - 1.
struct Exponential {
  f32 half_power_low, half_power_high;  // their product is 2^n; each factor is in range
  f32 p;
};

inline Exponential exponential(f32 x) {
  constexpr f32 kLog2E = 0x1.715476p+0f;
  constexpr f32 kLn2High = 0x1.62e4p-1f;  // ln 2 in two parts; n * kLn2High is exact
  constexpr f32 kLn2Low = 0x1.7f7d1cp-20f;
  constexpr f32 kRound = 0x1.8p23f;  // adding it leaves an integer in the low bits
  const f32 below = x > 90.0f ? 90.0f : x;
  const f32 inside = below < -106.0f ? -106.0f : below;
  const f32 shifted = inside * kLog2E + kRound;
  const f32 n = shifted - kRound;
  const f32 r = (inside - n * kLn2High) - n * kLn2Low;
  // The series of e^r - 1; the first omitted term is less than 2^-26 of the first term.
  f32 p = 1.0f / 5040.0f;
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r * r + r;
  const s32 power = static_cast<s32>(to_bits(shifted) - to_bits(kRound));
  const s32 low = power >> 1;
  const s32 high = power - low;
  return {from_bits(static_cast<std::uint32_t>(low + 127) << 23),
          from_bits(static_cast<std::uint32_t>(high + 127) << 23), p};
}

inline f32 exp_of(f32 x) {
  const Exponential e = exponential(x);
  return (e.p * e.half_power_low + e.half_power_low) * e.half_power_high;
}

// tanh x = t / (t + 2) with t = e^2x - 1. This is accurate near zero, too.
inline f32 tanh_of(f32 x) {
  const f32 clamped = x > 10.0f ? 10.0f : (x < -10.0f ? -10.0f : x);
  const Exponential e = exponential(2.0f * clamped);
  const f32 power = e.half_power_low * e.half_power_high;
  const f32 t = power * e.p + (power - 1.0f);
  return t / (t + 2.0f);
}

// For |x| < 1, an odd polynomial; otherwise erf |x| = 1 - e^-q(|x|) with a polynomial q. Both were
// fitted to the C library's f64 function, and differed from it by less than 2e-9 before their
// coefficients were rounded.
inline f32 erf_of(f32 x) {
  const f32 square = x * x;
  f32 near_zero = 7.882497e-05f;
  near_zero = near_zero * square - 8.0188550e-04f;
  near_zero = near_zero * square + 5.1893119e-03f;
  near_zero = near_zero * square - 2.6854329e-02f;
  near_zero = near_zero * square + 1.1283597e-01f;
  near_zero = near_zero * square - 3.7612627e-01f;
  near_zero = near_zero * square + 1.1283792e+00f;

  const f32 size = x < 0 ? -x : x;
  const f32 inside = size > 4.0f ? 4.0f : size;  // beyond 4, erf rounds to 1
  f32 q = -1.9242703e-04f;
  q = q * inside + 3.0085462e-03f;
  q = q * inside - 2.2087675e-02f;
  q = q * inside + 1.0364039e-01f;
  q = q * inside + 6.3751694e-01f;
  q = q * inside + 1.1274750e+00f;
  q = q * inside + 2.4470427e-04f;
  const f32 far = 1.0f - exp_of(-q);
  return size < 1.0f ? x * near_zero : (x < 0 ? -far : far);
}

inline f64 exp_of(f64 x) {
  return __builtin_exp(x);
}

inline f64 tanh_of(f64 x) {
  return __builtin_tanh(x);
}

inline f64 erf_of(f64 x) {
  return __builtin_erf(x);
}

// The `Functions` of activation.cuh.
struct EpilogueFunctions {
  static Real tanh(Real x) { return tanh_of(x); }
  static Real gelu_erf(Real x) {
    return Real(0.5) * x * (Real(1) + erf_of(x * Real(0.70710678118654752440)));
  }
  static Real leaky_relu(Real x, Real slope) { return x >= 0 ? x : slope * x; }
  static Real gate(Real x, Real y) { return x * (Real(1) / (Real(1) + exp_of(-y))); }
};

// ---- the row ------------------------------------------------------------------------------------

// The values that all rows share.
struct Epilogue {
  const TypeD* c;  // of this batch index
  TypeD* d;
  const TypeD* bias;
  long long c_stride_m, c_stride_n, d_stride_m, d_stride_n;
  const float* scale_a;  // of the first row, if each row has one
  const float* scale_b;
  long long scale_stride_a, scale_stride_b;
  Real factor;  // alpha, and the scales of whole matrices
  Real beta, slope;
  bool is_identity;  // s32 without an epilogue: D is the accumulator, exact modulo 2^32
};

inline Epilogue begin_epilogue(const Arguments& arguments, long long batch_index) {
  const bool one_scale_a = kScalingA == Scaling::kTensor && arguments.scale_a;
  const bool one_scale_b = kScalingB == Scaling::kTensor && arguments.scale_b;
  const f64 scale_a = one_scale_a ? static_cast<f64>(*arguments.scale_a) : 1.0;
  const f64 scale_b = one_scale_b ? static_cast<f64>(*arguments.scale_b) : 1.0;
  Epilogue epilogue{};
  if (kReadC) {
    epilogue.c = static_cast<const TypeD*>(arguments.c) + batch_index * arguments.batch_stride_c;
  }
  epilogue.d = static_cast<TypeD*>(arguments.d) + batch_index * arguments.batch_stride_d;
  epilogue.bias =
      static_cast<const TypeD*>(arguments.bias) + batch_index * arguments.batch_stride_bias;
  epilogue.c_stride_m = arguments.c_stride_m;
  epilogue.c_stride_n = arguments.c_stride_n;
  epilogue.d_stride_m = kSwapAb ? 1 : arguments.ldd;
  epilogue.d_stride_n = kSwapAb ? arguments.ldd : 1;
  if (kScalingA == Scaling::kRow) {
    epilogue.scale_a = arguments.scale_a + batch_index * arguments.scale_batch_stride_a;
  }
  if (kScalingB == Scaling::kRow) {
    epilogue.scale_b = arguments.scale_b + batch_index * arguments.scale_batch_stride_b;
  }
  epilogue.scale_stride_a = arguments.scale_stride_a;
  epilogue.scale_stride_b = arguments.scale_stride_b;
  epilogue.factor = static_cast<Real>(arguments.alpha * scale_a * scale_b);
  epilogue.beta = static_cast<Real>(arguments.beta);
  epilogue.slope = static_cast<Real>(arguments.slope);
  epilogue.is_identity = !kReadC && kBias == 0 && kActivation == Activation::kNone &&
                         arguments.alpha == 1.0 && !arguments.scale_a && !arguments.scale_b;
  return epilogue;
}

// Returns true if it has copied the accumulators to D unchanged.
inline bool store_exact(s32* d, const s32* accumulators, long long columns) {
  std::memcpy(d, accumulators, static_cast<std::size_t>(columns) * sizeof(s32));
  return true;
}

inline bool store_exact(void*, const void*, long long) {
  return false;  // floats need the epilogue
}

// Stores D[m][n0 ... n0 + columns - 1] from the accumulators of these elements.
inline void store_row(const Epilogue& epilogue, long long m, long long n0, long long columns,
                      const Accumulator* accumulators) {
  const long long d_stride = kSwapAb ? epilogue.d_stride_n : 1;  // a constant, to vectorize
  TypeD* d = epilogue.d + m * epilogue.d_stride_m + n0 * d_stride;
  if (!kSwapAb && epilogue.is_identity && store_exact(d, accumulators, columns)) {
    return;
  }
  const Real factor = kScalingA == Scaling::kRow
                          ? epilogue.factor * Real(epilogue.scale_a[m * epilogue.scale_stride_a])
                          : epilogue.factor;
  const long long scale_stride = epilogue.scale_stride_b;
  const float* column_scale =
      kScalingB == Scaling::kRow ? epilogue.scale_b + n0 * scale_stride : nullptr;
  const Real beta = epilogue.beta;
  const Real slope = epilogue.slope;
  const long long c_stride = epilogue.c_stride_n;
  const TypeD* c = kReadC ? epilogue.c + m * epilogue.c_stride_m + n0 * c_stride : nullptr;
  const Real row_bias = kBias == kBiasPerRow ? Real(widen(epilogue.bias[m])) : Real(0);
  const TypeD* column_bias = kBias == kBiasPerColumn ? epilogue.bias + n0 : nullptr;
// If C is D, both have the same layout. Therefore no iteration reads an element that another one
// writes.
#pragma GCC ivdep
  for (long long n = 0; n < columns; ++n) {
    const Real scale =
        kScalingB == Scaling::kRow ? factor * Real(column_scale[n * scale_stride]) : factor;
    Real x = scale * static_cast<Real>(accumulators[n]);
    if (kReadC) {
      x += beta * Real(widen(c[n * c_stride]));
    }
    if (kBias == kBiasPerRow) {
      x += row_bias;
    }
    if (kBias == kBiasPerColumn) {
      x += Real(widen(column_bias[n]));
    }
    d[n * d_stride] = narrow(activated<kActivation, EpilogueFunctions>(x, slope), TypeD{});
  }
}
