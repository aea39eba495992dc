#pragma once

// The table of activations. Code takes an activation's properties from it instead of comparing
// enumerators. The formulas for the kernels are in cuda/common/activation.cuh, and those in f64 are
// in cuda/reference/activation.cuh. Kernels include this file, so it is plain C++ without the
// standard library.

#include "../cuda/common/host_device.cuh"

namespace tunedgemm::internal {

/// tunedgemm.h documents the formulas. The numbers cross the C ABI, and fingerprints of kernels
/// depend on them: never renumber.
enum class Activation : int {
  kNone = 0,
  kRelu = 1,
  kLeakyRelu = 2,
  kGeluTanh = 3,
  kGeluErf = 4,
  kSilu = 5,
  kSigmoid = 6,
  kTanh = 7,
  kReluSquared = 8,
};

struct ActivationTraits {
  Activation activation;
  const char* name;  ///< in texts and tables
  /// Kernels may approximate a transcendental activation. In f64 it is too long to be unrolled.
  bool is_transcendental;
  /// 1: the slope is at most `steepest` (leaky_relu's slope below 0 is an argument of the call). 2:
  /// the slope is at most `steepest` times |x|, like that of steepest / 2 * x^2.
  int degree;
  double steepest;
  double host_cycles;      ///< of an f32 on a CPU: vector instructions, or a call
  double host_cycles_f64;  ///< of an f64 on a CPU
};

struct ActivationTable {
  ActivationTraits rows[9];
};

/// The table is a function, since NVRTC would store a constant table in every kernel.
// clang-format off
TUNEDGEMM_CONSTEXPR ActivationTable activation_table() {
  return {{
      // number                   name         transcendental  degree, steepest  host_cycles, _f64
      {Activation::kNone,         "none",         false,          1, 1,        0,  0},
      {Activation::kRelu,         "relu",         false,          1, 1,        0,  0},
      {Activation::kLeakyRelu,    "leaky_relu",   false,          1, 1,        0,  0},
      {Activation::kGeluTanh,     "gelu_tanh",    true,           1, 1.13,     4, 40},
      {Activation::kGeluErf,      "gelu_erf",     true,           1, 1.13,    40, 40},
      {Activation::kSilu,         "silu",         true,           1, 1.1,      4, 40},
      {Activation::kSigmoid,      "sigmoid",      true,           1, 0.25,     4, 40},
      {Activation::kTanh,         "tanh",         true,           1, 1,        4, 40},
      {Activation::kReluSquared,  "relu_squared", false,          2, 2,        0,  0},
  }};
}
// clang-format on

/// For an unknown number: the traits of kNone.
TUNEDGEMM_CONSTEXPR ActivationTraits traits(Activation activation) {
  const ActivationTable table = activation_table();
  for (const ActivationTraits& row : table.rows) {
    if (row.activation == activation) {
      return row;
    }
  }
  return table.rows[0];
}

}  // namespace tunedgemm::internal
