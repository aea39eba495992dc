// 8-bit floating point: one byte per element, and for each matrix a scale that brings its values
// into the type's range.

#include <cstdint>
#include <cstdio>
#include <tunedgemm/tunedgemm.hpp>
#include <vector>

// A type of this program's own for the bits. CUDA's __nv_fp8_e4m3 needs no such declaration.
enum class Fp8 : std::uint8_t { kOneAndAHalf = 0x3c };  // 1 sign, 4 exponent, 3 mantissa bits
template <>
inline constexpr tunedgemm::Type tunedgemm::type_of<Fp8> = TUNEDGEMM_TYPE_E4M3;

int main() {
  using tunedgemm::Matrix;
  const std::int64_t m = 32, n = 48, k = 64;
  std::vector<Fp8> a(m * k, Fp8::kOneAndAHalf), b(n * k, Fp8::kOneAndAHalf);
  std::vector<float> d(m * n);
  const float scale_a = 0.5f, scale_b = 4.0f;
  tunedgemm::Context context({.backend = TUNEDGEMM_BACKEND_HOST, .rigor = TUNEDGEMM_RIGOR_QUICK});
  tunedgemm::tuned_matmul(context, Matrix(a.data(), m, k),
                          Matrix(b.data(), k, n, {.order = TUNEDGEMM_ORDER_COLUMN_MAJOR}),
                          Matrix(d.data(), m, n), {.scale_a = &scale_a, .scale_b = &scale_b});
  std::printf("%g\n", d[0]);  // 64 * 1.5 * 1.5 * 0.5 * 4
  return d[0] == 288.0f ? 0 : 1;
}
