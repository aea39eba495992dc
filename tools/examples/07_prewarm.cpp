// A service tunes when it starts, and never while it serves: the same cache under two policies.

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
    std::printf("at the start:\n%s\n", starting.report().c_str());
  }

  // Shapes that nobody thought of run the stored kernel of a shape like theirs, so that nothing is
  // compiled, and are noted in the cache: tune-all --from-requests tunes them at night.
  tunedgemm::Context serving({.backend = TUNEDGEMM_BACKEND_HOST,
                              .cache_path = file.c_str(),
                              .policy = TUNEDGEMM_POLICY_STORED});
  for (const std::int64_t m : {std::int64_t{8}, std::int64_t{13}}) {
    tunedgemm::tuned_matmul(serving, {.m = m, .n = n, .k = k}, buffers);
  }
  std::printf("while it serves:\n%s\n", serving.report().c_str());
  return d[0] == 64.0f ? 0 : 1;
}
