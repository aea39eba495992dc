// A service that tunes at startup and never while serving: one cache, two policies.

#include <cstdio>
#include <filesystem>
#include <tunedgemm/tunedgemm.hpp>
#include <vector>

int main() {
  const auto file = std::filesystem::current_path() / "tunedgemm-prewarmed.db";
  std::filesystem::remove(file);
  const std::int64_t batches[] = {1, 8, 32}, n = 64, k = 64;
  std::vector<float> a(32 * k, 1.0f), b(k * n, 1.0f), d(32 * n);
  const tunedgemm::Buffers buffers{.a = a.data(), .b = b.data(), .d = d.data()};

  {
    tunedgemm::Context starting({.backend = TUNEDGEMM_BACKEND_HOST,
                                 .cache_path = file.c_str(),
                                 .policy = TUNEDGEMM_POLICY_TUNE,
                                 .rigor = TUNEDGEMM_RIGOR_QUICK,
                                 .tune_candidates = 4});
    for (const std::int64_t m : batches) {
      starting.plan({.m = m, .n = n, .k = k}, buffers);
    }
    std::printf("at startup:\n%s\n", starting.report().c_str());
  }

  // An unexpected shape runs a similar shape's stored kernel, without compiling, and is recorded as
  // a request in the cache: tune-all --from-requests can tune it later.
  tunedgemm::Context serving({.backend = TUNEDGEMM_BACKEND_HOST,
                              .cache_path = file.c_str(),
                              .policy = TUNEDGEMM_POLICY_STORED});
  for (const std::int64_t m : {std::int64_t{8}, std::int64_t{13}}) {
    tunedgemm::tuned_matmul(serving, {.m = m, .n = n, .k = k}, buffers);
  }
  std::printf("while serving:\n%s\n", serving.report().c_str());
  return d[0] == 64.0f ? 0 : 1;
}
