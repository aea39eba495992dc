// Epilogue: from an accumulator to an element of D:
//
//   D[m, n] = round( act( alpha * scale_a * scale_b * sum + beta * C[m, n] + bias ) )
//
//   const Epilogue epilogue = begin_epilogue(arguments, batch_entry);   // once a thread
//   d[...] = finish(epilogue, sum, m, n);                               // once an element
//
// It is computed in the accumulator's type; for integers in f64, which holds every s32.
#pragma once

#include "problem.cuh"

__device__ f32 epilogue_type(f32);  // declared for decltype alone
__device__ f64 epilogue_type(f64);
__device__ f64 epilogue_type(s32);
using EpilogueType = decltype(epilogue_type(Accumulator()));

struct Epilogue {
  EpilogueType scale;  // alpha * scale_a * scale_b
  EpilogueType beta;
  EpilogueType slope;
  const TypeD* c;
  long long c_stride_m, c_stride_n;
  const TypeD* bias;
  bool is_identity;  // the sum is the result (asked only where accumulators are integers)
};

__device__ __forceinline__ Epilogue begin_epilogue(const Arguments& arguments,
                                                   long long batch_entry) {
  Epilogue epilogue;
  epilogue.scale = static_cast<EpilogueType>(arguments.alpha);
  if (arguments.scale_a != nullptr) {
    epilogue.scale *= static_cast<EpilogueType>(*arguments.scale_a);
  }
  if (arguments.scale_b != nullptr) {
    epilogue.scale *= static_cast<EpilogueType>(*arguments.scale_b);
  }
  epilogue.beta = static_cast<EpilogueType>(arguments.beta);
  epilogue.slope = static_cast<EpilogueType>(arguments.slope);
  epilogue.c = static_cast<const TypeD*>(arguments.c) + batch_entry * arguments.batch_stride_c;
  epilogue.c_stride_m = arguments.c_stride_m;
  epilogue.c_stride_n = arguments.c_stride_n;
  epilogue.bias = static_cast<const TypeD*>(arguments.bias);
  epilogue.is_identity = arguments.alpha == 1.0 && arguments.scale_a == nullptr &&
                         arguments.scale_b == nullptr && !kReadC && kBias == Bias::kNone &&
                         kActivation == Activation::kNone;
  return epilogue;
}

// Whether the activation is long: a kernel that unrolls its epilogue would be all activation.
constexpr bool kLongActivation = kActivation >= Activation::kGeluTanh;

// Every comparison is written so that NaN stays NaN.
__device__ __forceinline__ EpilogueType activate(EpilogueType x, EpilogueType slope) {
  constexpr EpilogueType one = 1, half = 0.5;
  switch (kActivation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x < 0 ? 0 : x;
    case Activation::kLeakyRelu:
      return x < 0 ? slope * x : x;
    case Activation::kGeluTanh: {
      constexpr EpilogueType root_2_over_pi = 0.79788456080286535588, cubic = 0.044715;
      return half * x * (one + tanh(root_2_over_pi * (x + cubic * x * x * x)));
    }
    case Activation::kGeluErf: {
      constexpr EpilogueType root_one_half = 0.70710678118654752440;
      return half * x * (one + erf(x * root_one_half));
    }
    case Activation::kSilu:
      return divide(x, one + exp(-x));
    case Activation::kSigmoid:
      return divide(one, one + exp(-x));
    case Activation::kTanh:
      return tanh(x);
  }
  return x;
}

// For a caller that has read C's element itself; `c` may be anything where C is not read.
__device__ __forceinline__ TypeD finish_with(const Epilogue& epilogue, Accumulator sum, TypeD c,
                                             long long m, long long n) {
  TypeD result;
  if (kAccumulatorIsInteger && epilogue.is_identity) {
    round_to(sum, result);
    return result;
  }
  EpilogueType x = epilogue.scale * static_cast<EpilogueType>(sum);
  if constexpr (kReadC) {
    multiply_add(epilogue.beta, static_cast<EpilogueType>(widen(c)), x);
  }
  if constexpr (kBias != Bias::kNone) {
    x += static_cast<EpilogueType>(widen(epilogue.bias[kBias == Bias::kPerRow ? m : n]));
  }
  round_to(activate(x, epilogue.slope), result);
  return result;
}

__device__ __forceinline__ TypeD finish(const Epilogue& epilogue, Accumulator sum, long long m,
                                        long long n) {
  TypeD c{};
  if constexpr (kReadC) {
    c = epilogue.c[m * epilogue.c_stride_m + n * epilogue.c_stride_n];
  }
  return finish_with(epilogue, sum, c, m, n);
}
