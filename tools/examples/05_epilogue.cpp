// A layer in one kernel: bias and activation are applied to the accumulators before D is stored.

#include <cmath>
#include <cstdio>
#include <tunedgemm/tunedgemm.hpp>
#include <vector>

int main() {
  using tunedgemm::Matrix;
  const std::int64_t tokens = 48, inputs = 64, outputs = 96;
  std::vector<float> x(tokens * inputs, 0.5f), weights(inputs * outputs, 0.03125f);
  std::vector<float> bias(outputs, -2.0f), y(tokens * outputs);
  tunedgemm::Context context({.backend = TUNEDGEMM_BACKEND_HOST, .rigor = TUNEDGEMM_RIGOR_QUICK});
  tunedgemm::tuned_matmul(
      context, Matrix(x.data(), tokens, inputs), Matrix(weights.data(), inputs, outputs),
      Matrix(y.data(), tokens, outputs),
      {.bias_per_column = bias.data(), .activation = TUNEDGEMM_ACTIVATION_GELU_ERF});
  const double sum = 64 * 0.5 * 0.03125 - 2.0;  // -1
  const double expected = 0.5 * sum * (1 + std::erf(sum / std::sqrt(2.0)));
  std::printf("%.6f, expected %.6f\n", y[0], expected);
  return std::abs(y[0] - expected) < 1e-5 ? 0 : 1;
}
