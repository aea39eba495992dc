// 8-bit floating point: one byte per element, and for each matrix a scale that brings its values
// into the type's range.

#include <cstdint>
#include <cstdio>
#include <tunedgemm/tunedgemm.hpp>
#include <vector>

int main() {
  constexpr std::uint8_t kOneAndAHalf = 0x3c;  // e4m3: 1 sign, 4 exponent, 3 mantissa bits
  const std::int64_t m = 32, n = 48, k = 64;
  std::vector<std::uint8_t> a(m * k, kOneAndAHalf), b(n * k, kOneAndAHalf);
  std::vector<float> d(m * n);
  const float scale_a = 0.5f, scale_b = 4.0f;
  tunedgemm::Context context(
      {.backend = tunedgemm::Backend::kHost, .rigor = tunedgemm::Rigor::kQuick});
  tunedgemm::tuned_matmul(
      context,
      {.m = m,
       .n = n,
       .k = k,
       .type_a = tunedgemm::Type::kE4M3,
       .type_b = tunedgemm::Type::kE4M3,
       .order_b = tunedgemm::Order::kColumnMajor},
      {.a = a.data(), .b = b.data(), .d = d.data(), .scale_a = &scale_a, .scale_b = &scale_b});
  std::printf("%g\n", d[0]);  // 64 * 1.5 * 1.5 * 0.5 * 4
  return d[0] == 288.0f ? 0 : 1;
}
