// Epilogue: computes an element of D from an accumulator.
//
//   D[m, n] = round( act( alpha * scale_a * scale_b * accumulator + beta * C[m, n] + bias ) )
//
//   const Epilogue epilogue = begin_epilogue(arguments, batch_index);   // once per thread
//   d[...] = apply_epilogue(epilogue, accumulator, m, n);               // once per element
//
// It computes in the accumulator's type, except that s32 is computed in f64, which holds every s32
// exactly.
#pragma once

#include "activation.cuh"
#include "problem.cuh"

__device__ f32 epilogue_type(f32);  // for decltype only
__device__ f64 epilogue_type(f64);
__device__ f64 epilogue_type(s32);
using EpilogueType = decltype(epilogue_type(Accumulator()));

struct Epilogue {
  EpilogueType scale;    // alpha, and the scales of whole matrices
  const float* scale_a;  // of the first row, if each row has one
  const float* scale_b;
  long long scale_stride_a, scale_stride_b;
  EpilogueType beta;
  EpilogueType slope;
  const TypeD* c;
  long long c_stride_m, c_stride_n;
  const TypeD* bias;
  bool is_identity;  // D is the accumulator (used only for integers)
};

__device__ __forceinline__ Epilogue begin_epilogue(const Arguments& arguments,
                                                   long long batch_index) {
  Epilogue epilogue;
  epilogue.scale = static_cast<EpilogueType>(arguments.alpha);
  if (kScalingA == Scaling::kTensor && arguments.scale_a != nullptr) {
    epilogue.scale *= static_cast<EpilogueType>(*arguments.scale_a);
  }
  if (kScalingB == Scaling::kTensor && arguments.scale_b != nullptr) {
    epilogue.scale *= static_cast<EpilogueType>(*arguments.scale_b);
  }
  epilogue.scale_a = arguments.scale_a + batch_index * arguments.scale_batch_stride_a;
  epilogue.scale_b = arguments.scale_b + batch_index * arguments.scale_batch_stride_b;
  epilogue.scale_stride_a = arguments.scale_stride_a;
  epilogue.scale_stride_b = arguments.scale_stride_b;
  epilogue.beta = static_cast<EpilogueType>(arguments.beta);
  epilogue.slope = static_cast<EpilogueType>(arguments.slope);
  epilogue.c = static_cast<const TypeD*>(arguments.c) + batch_index * arguments.batch_stride_c;
  epilogue.c_stride_m = arguments.c_stride_m;
  epilogue.c_stride_n = arguments.c_stride_n;
  epilogue.bias =
      static_cast<const TypeD*>(arguments.bias) + batch_index * arguments.batch_stride_bias;
  epilogue.is_identity = arguments.alpha == 1.0 && arguments.scale_a == nullptr &&
                         arguments.scale_b == nullptr && !kReadC && kBias == Bias::kNone &&
                         kActivation == Activation::kNone;
  return epilogue;
}

// Transcendental activations in f64 are not unrolled, since their copies would make up most of a
// kernel.
constexpr bool kLongActivation =
    traits(kActivation).is_transcendental && sizeof(EpilogueType) == sizeof(f64);

// The `Functions` of activation.cuh.
struct EpilogueFunctions {
  using Real = EpilogueType;
  static __device__ __forceinline__ Real tanh(Real x) { return ::tanh(x); }
  static __device__ __forceinline__ Real leaky_relu(Real x, Real slope) {
    return x < 0 ? slope * x : x;
  }
  static __device__ __forceinline__ f32 gate(f32 x, f32 y) {
    constexpr f32 log2_e = 1.44269504f;
    return x * reciprocal_approximately(1 + exp2_approximately(-log2_e * y));
  }
  static __device__ __forceinline__ f64 gate(f64 x, f64 y) { return x / (1 + exp(-y)); }

  // max(x, 0) - |x| * (1 - erf(|x| / sqrt(2))) / 2. The second factor is 2^-q with a polynomial q
  // of |x|, which was fitted from 0 to 6 and increases beyond; at 16, the factor is 0. The relative
  // error of the result is at most 6e-7 from -0.5 on, 2e-6 from -2, 4e-5 from -4, and 6e-4 from -6.
  static __device__ __forceinline__ f32 gelu_erf(f32 x) {
    const f32 size = fabsf(x) > 16 ? 16 : fabsf(x);
    f32 q = 7.4075558e-07f;
    q = __fmaf_rn(q, size, -1.2593577e-05f);
    q = __fmaf_rn(q, size, 5.0515093e-05f);
    q = __fmaf_rn(q, size, 4.8437368e-04f);
    q = __fmaf_rn(q, size, -7.5392132e-03f);
    q = __fmaf_rn(q, size, 5.2834190e-02f);
    q = __fmaf_rn(q, size, 4.5909816e-01f);
    q = __fmaf_rn(q, size, 1.1511168e+00f);
    q = __fmaf_rn(q, size, 1.0f);
    return __fmaf_rn(-size, exp2_approximately(-q), fmaxf(x, 0));
  }
  static __device__ __forceinline__ f64 gelu_erf(f64 x) {
    return 0.5 * x * (1 + ::erf(0.70710678118654752440 * x));
  }
};

// The element D[m, n] of the matrix with the epilogue's batch index.
__device__ __forceinline__ TypeD apply_epilogue(const Epilogue& epilogue, Accumulator accumulator,
                                                long long m, long long n) {
  TypeD c{}, result;
  if constexpr (kReadC) {
    c = epilogue.c[m * epilogue.c_stride_m + n * epilogue.c_stride_n];
  }
  if (kAccumulatorIsInteger && epilogue.is_identity) {
    round_to(accumulator, result);
    return result;
  }
  EpilogueType scale = epilogue.scale;
  if constexpr (kScalingA == Scaling::kRow) {
    scale *= static_cast<EpilogueType>(epilogue.scale_a[m * epilogue.scale_stride_a]);
  }
  if constexpr (kScalingB == Scaling::kRow) {
    scale *= static_cast<EpilogueType>(epilogue.scale_b[n * epilogue.scale_stride_b]);
  }
  EpilogueType x = scale * static_cast<EpilogueType>(accumulator);
  if constexpr (kReadC) {
    multiply_add(epilogue.beta, static_cast<EpilogueType>(widen(c)), x);
  }
  if constexpr (kBias != Bias::kNone) {
    x += static_cast<EpilogueType>(widen(epilogue.bias[kBias == Bias::kPerRow ? m : n]));
  }
  round_to(activated<kActivation, EpilogueFunctions>(x, epilogue.slope), result);
  return result;
}
