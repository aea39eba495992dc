// An application can keep its winners in a cache file of its own, and ship that file. The first
// context tunes; the second finds the winner and compiles nothing.

#include <cstdio>
#include <filesystem>
#include <tunedgemm/tunedgemm.hpp>
#include <vector>

int main() {
  using tunedgemm::Matrix;
  const std::int64_t m = 96, n = 96, k = 96;
  std::vector<double> a(m * k, 1.0), b(k * n, 1.0), d(m * n);
  const auto file = std::filesystem::current_path() / "tunedgemm-example.db";
  std::filesystem::remove(file);

  for (const char* moment : {"first", "second"}) {
    tunedgemm::Context context({.backend = TUNEDGEMM_BACKEND_HOST,
                                .cache_path = file.c_str(),
                                .rigor = TUNEDGEMM_RIGOR_QUICK});
    tunedgemm::tuned_matmul(context, Matrix(a.data(), m, k), Matrix(b.data(), k, n),
                            Matrix(d.data(), m, n));
    std::printf("%s context:\n%s\n", moment, context.report().c_str());
  }
  return d[0] == 96.0 ? 0 : 1;
}
