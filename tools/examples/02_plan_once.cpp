// A plan for a loop: it is made once, so that each run costs only the multiplication. This plan has
// an epilogue: D = relu(A * B + bias), with one bias value per column of D.

#include <chrono>
#include <cstdio>
#include <tunedgemm/tunedgemm.hpp>
#include <vector>

int main() {
  using tunedgemm::Matrix;
  const std::int64_t m = 64, n = 512, k = 256;
  std::vector<float> a(m * k, 0.5f), b(k * n, -1.0f), bias(n, 100.0f), d(m * n);
  bias[0] = 200.0f;

  const tunedgemm::Context context(
      {.backend = TUNEDGEMM_BACKEND_HOST, .rigor = TUNEDGEMM_RIGOR_QUICK});
  const Matrix matrix_a(a.data(), m, k), matrix_b(b.data(), k, n), matrix_d(d.data(), m, n);
  const tunedgemm::CallOptions<float> options{.bias_per_column = bias.data(),
                                              .activation = TUNEDGEMM_ACTIVATION_RELU};
  const auto [problem, buffers] = tunedgemm::call_of(matrix_a, matrix_b, matrix_d, options);
  const tunedgemm::Plan plan = context.plan(problem, buffers);
  std::printf("%s\n", std::string(plan.description()).c_str());

  constexpr int kCalls = 1000;
  const auto begin = std::chrono::steady_clock::now();
  for (int call = 0; call < kCalls; ++call) {
    plan.run(matrix_a, matrix_b, matrix_d, options);
  }
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - begin;
  std::printf("%.1f us a call, kernel: %s\n", spent.count() / kCalls,
              tunedgemm::to_string(plan.info().origin).c_str());
  return d[0] == 72.0f && d[1] == 0.0f ? 0 : 1;  // 64 * -1 * 2 = -128: 200 - 128, and relu(-28)
}
