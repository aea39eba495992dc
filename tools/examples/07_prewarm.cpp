// A service that tunes at startup and never while serving: one cache, two policies.

#include <cstdio>
#include <filesystem>
#include <string>
#include <tunedgemm/tunedgemm.hpp>
#include <vector>

int main() {
  using tunedgemm::Matrix;
  const auto file = std::filesystem::current_path() / "tunedgemm-prewarmed.db";
  std::filesystem::remove(file);
  const std::int64_t n = 64, k = 64;

  {
    const tunedgemm::Context starting({.backend = TUNEDGEMM_BACKEND_HOST,
                                       .cache_path = file.c_str(),
                                       .policy = TUNEDGEMM_POLICY_TUNE,
                                       .rigor = TUNEDGEMM_RIGOR_QUICK,
                                       .tune_candidates = 4});
    std::vector<tunedgemm::Problem> problems;
    for (const std::int64_t m : {1, 8, 32}) {
      problems.push_back({.m = m, .n = n, .k = k});
    }
    starting.prepare(problems, {}, [&](const tunedgemm::Progress& progress) {
      const char* what =
          progress.plan == nullptr ? progress.message : tunedgemm_plan_description(progress.plan);
      std::printf("%zu of %zu, M = %lld, %.1f s: %s\n", progress.index + 1, progress.count,
                  static_cast<long long>(problems[progress.index].m), progress.seconds, what);
    });
    std::printf("at startup:\n%s\n", starting.report().c_str());
  }

  // An unexpected shape runs a similar shape's stored kernel, without compiling, and is recorded as
  // a request in the cache: tune-all --from-requests can tune it later.
  const tunedgemm::Context serving({.backend = TUNEDGEMM_BACKEND_HOST,
                                    .cache_path = file.c_str(),
                                    .policy = TUNEDGEMM_POLICY_STORED});
  std::vector<float> a(13 * k, 1.0f), b(k * n, 1.0f), d(13 * n);
  for (const std::int64_t m : {8, 13}) {
    tunedgemm::tuned_matmul(serving, Matrix(a.data(), m, k), Matrix(b.data(), k, n),
                            Matrix(d.data(), m, n));
  }
  std::printf("while serving:\n%s\n", serving.report().c_str());
  return d[0] == 64.0f ? 0 : 1;
}
