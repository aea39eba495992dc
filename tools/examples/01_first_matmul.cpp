// The smallest program: D = A * B in f32 on the host. The first run tunes the shape (a few
// seconds); later runs find the winner in the cache.

#include <cstdio>
#include <tunedgemm/tunedgemm.hpp>
#include <vector>

int main() {
  using tunedgemm::Matrix;
  const std::int64_t m = 512, n = 128, k = 256;
  std::vector<float> a(m * k, 1.0f), b(k * n, 2.0f), d(m * n);
  const tunedgemm::Context context({.backend = TUNEDGEMM_BACKEND_HOST});
  tunedgemm::tuned_matmul(context, Matrix(a.data(), m, k), Matrix(b.data(), k, n),
                          Matrix(d.data(), m, n));
  std::printf("d[0] = %g\n", d[0]);
  return d[0] == 2.0f * k ? 0 : 1;
}
