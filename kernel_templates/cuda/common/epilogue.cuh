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

// Long activations are not unrolled, since their copies would make up most of a kernel.
constexpr bool kLongActivation = traits(kActivation).is_long;

// The `Functions` of activation.cuh.
struct EpilogueFunctions {
  using Real = EpilogueType;
  static __device__ __forceinline__ Real tanh(Real x) { return ::tanh(x); }
  static __device__ __forceinline__ Real erf(Real x) { return ::erf(x); }
  static __device__ __forceinline__ Real leaky_relu(Real x, Real slope) {
    return x < 0 ? slope * x : x;
  }
  static __device__ __forceinline__ Real gate(Real x, Real y) {
    constexpr Real one = 1;
    return divide(x, one + exp(-y));
  }
  static __device__ __forceinline__ Real gate_by_tanh(Real x, Real factor, Real y) {
    constexpr Real one = 1, half = 0.5;
    return half * x * (one + ::tanh(factor * y));
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
