// The activations in f64, for the verifier and for the kernel that is linked into the library. The
// formulas are independent of those of the kernels.
#pragma once

#include "../../problem/activation.h"
#include "element.cuh"

using namespace tunedgemm::internal;

namespace reference {

REFERENCE_FUNCTION double activated(Activation activation, double x, double slope) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x < 0 ? 0 : x;
    case Activation::kLeakyRelu:
      return x < 0 ? slope * x : x;
    case Activation::kGeluTanh:
      return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case Activation::kGeluErf:
      return 0.5 * x * erfc(-x * 0.70710678118654752440);
    case Activation::kSilu:
      return x / (1 + exp(-x));
    case Activation::kSigmoid:
      return 1 / (1 + exp(-x));
    case Activation::kTanh:
      return tanh(x);
    case Activation::kReluSquared:
      return x < 0 ? 0 : x * x;
  }
  return x;
}

}  // namespace reference
