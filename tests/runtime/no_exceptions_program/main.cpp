// A C++ program built with -fno-exceptions, which uses tunedgemm.h. Exits with 0 if each call has
// the expected outcome.

#include <tunedgemm/tunedgemm.h>
#include <cstdio>
#include <cstring>
#include <vector>

int main() {
  const tunedgemm_context_options options{.backend = TUNEDGEMM_BACKEND_HOST,
                                          .host_threads = 1,
                                          .cache_path = "",
                                          .policy = TUNEDGEMM_POLICY_STORED};
  tunedgemm_context* context = nullptr;
  if (tunedgemm_context_create(&options, &context) != TUNEDGEMM_STATUS_OK) {
    std::fprintf(stderr, "%s\n", tunedgemm_error_message());
    return 1;
  }
  const std::vector<float> a(4 * 6, 1.0f), b(6 * 5, 2.0f);
  std::vector<float> d(4 * 5);
  const tunedgemm_problem problem{.m = 4, .n = 5, .k = 6}, wrong{.m = -4, .n = 5, .k = 6};
  const tunedgemm_buffers buffers{.a = a.data(), .b = b.data(), .d = d.data()};
  if (tunedgemm_matmul(context, &problem, &buffers, nullptr) != TUNEDGEMM_STATUS_OK ||
      d[19] != 12.0f) {
    return 2;
  }
  if (tunedgemm_matmul(context, &wrong, &buffers, nullptr) != TUNEDGEMM_STATUS_INVALID_ARGUMENT ||
      std::strstr(tunedgemm_error_message(), "M is -4") == nullptr) {
    return 3;
  }
  tunedgemm_context_destroy(context);
  return 0;
}
