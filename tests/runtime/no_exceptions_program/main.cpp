// A program built with -fno-exceptions. Exits with 0 if each call has the expected outcome.

#include <cstdio>
#include <string>
#include <tunedgemm/tunedgemm.hpp>
#include <vector>

int main() {
  using tunedgemm::Context, tunedgemm::Plan, tunedgemm::Result, tunedgemm::Status;
  const Result<Context> context = Context::try_create({.backend = tunedgemm::Backend::kHost,
                                                       .host_threads = 1,
                                                       .cache_path = "",
                                                       .policy = tunedgemm::Policy::kStored});
  if (!context) {
    std::fprintf(stderr, "%s\n", context.message().c_str());
    return 1;
  }
  std::vector<float> a(4 * 6, 1.0f), b(6 * 5, 2.0f), d(4 * 5);
  const tunedgemm::Matrix a_matrix(a.data(), 4, 6), b_matrix(b.data(), 6, 5);
  const tunedgemm::Matrix d_matrix(d.data(), 4, 5);
  if (!tunedgemm::try_matmul(*context, a_matrix, b_matrix, d_matrix) || d[19] != 12.0f) {
    return 2;
  }
  d[19] = 0;
  const Result<tunedgemm::Product> product = tunedgemm::try_product(a_matrix, b_matrix, d_matrix);
  if (!product || tunedgemm::try_product(a_matrix, b_matrix, a_matrix)) {
    return 6;
  }
  const auto& [problem, buffers] = *product;
  const Result<Plan> plan = context->try_plan(problem, buffers);
  if (!plan || !plan->try_run(buffers) || d[19] != 12.0f) {
    return 3;
  }
  const Result<> refused = tunedgemm::try_matmul(*context, {.m = -4, .n = 5, .k = 6}, buffers);
  if (refused.status() != Status::kInvalidArgument ||
      refused.message().find("M is -4") == std::string::npos) {
    return 4;
  }
  const Result<Context> no_context = Context::try_create({.ordinal = -1});
  return no_context.status() == Status::kInvalidArgument ? 0 : 5;
}
