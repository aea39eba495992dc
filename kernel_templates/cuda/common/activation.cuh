// The activations, for GPU and CPU kernels. `Functions` has these static members, which differ
// between GPU and CPU:
//
//   tanh(x), erf(x)
//   leaky_relu(x, slope)          x < 0 ? slope * x : x
//   gate(x, y)                    x / (1 + exp(-y))
//   gate_by_tanh(x, factor, y)    x / 2 * (1 + tanh(factor * y)), which is gate(x, 2 * factor * y)
//
// Comparisons are written so that NaN stays NaN. The verifier has its own formulas
// (cuda/reference/activation.cuh).
#pragma once

#include "../../problem/activation.h"
#include "host_device.cuh"

using namespace tunedgemm::internal;

template <Activation kActivation, class Functions, class Real>
TUNEDGEMM_DEVICE_INLINE Real activated(Real x, Real slope) {
  constexpr Real one = 1, half = 0.5;
  switch (kActivation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x < 0 ? 0 : x;
    case Activation::kLeakyRelu:
      return Functions::leaky_relu(x, slope);
    case Activation::kGeluTanh: {
      constexpr Real root_2_over_pi = Real(0.79788456080286535588), cubic = Real(0.044715);
      return Functions::gate_by_tanh(x, root_2_over_pi, x + cubic * x * x * x);
    }
    case Activation::kGeluErf: {
      constexpr Real root_one_half = Real(0.70710678118654752440);
      return half * x * (one + Functions::erf(x * root_one_half));
    }
    case Activation::kSilu:
      return Functions::gate(x, x);
    case Activation::kSigmoid:
      return Functions::gate(one, x);
    case Activation::kTanh:
      return Functions::tanh(x);
    case Activation::kReluSquared:
      return x < 0 ? 0 : x * x;
  }
  return x;
}
