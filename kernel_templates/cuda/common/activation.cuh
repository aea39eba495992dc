// The activations, for GPU and CPU kernels. `Functions` has these static members, which differ
// between GPU and CPU:
//
//   tanh(x)
//   gelu_erf(x)                   x / 2 * (1 + erf(x / sqrt(2)))
//   leaky_relu(x, slope)          x < 0 ? slope * x : x
//   gate(x, y)                    x / (1 + exp(-y)), which is x / 2 * (1 + tanh(y / 2))
//
// Comparisons are written so that NaN stays NaN. The verifier has its own formulas
// (cuda/reference/activation.cuh).
#pragma once

#include "../../problem/activation.h"
#include "host_device.cuh"

using namespace tunedgemm::internal;

template <Activation kActivation, class Functions, class Real>
TUNEDGEMM_DEVICE_INLINE Real activated(Real x, Real slope) {
  constexpr Real one = 1;
  switch (kActivation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x < 0 ? 0 : x;
    case Activation::kLeakyRelu:
      return Functions::leaky_relu(x, slope);
    case Activation::kGeluTanh: {
      constexpr Real root_8_over_pi = Real(1.59576912160573071176), cubic = Real(0.044715);
      return Functions::gate(x, root_8_over_pi * (x + cubic * x * x * x));
    }
    case Activation::kGeluErf:
      return Functions::gelu_erf(x);
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
