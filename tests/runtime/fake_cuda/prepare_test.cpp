// While tunedgemm_prepare() tunes a problem, the compilers of a GPU begin with the next one.

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <span>
#include <vector>

#include "tests/runtime/fake_cuda/fake_gpu.h"
#include "tests/support/catch.h"
#include "tests/support/comes_true.h"
#include "tunedgemm/tunedgemm.hpp"

namespace tunedgemm::internal::fake_cuda {
namespace {

std::ptrdiff_t threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

}  // namespace

TEST_CASE("The threads that compile for the next problem of a list end with the list") {
  const FakeGpu gpu;
  const std::vector<tunedgemm::Problem> all{
      {.m = 16, .n = 24, .k = 32}, {.m = 16, .n = 24, .k = 48}, {.m = 16, .n = 24, .k = 64}};
  const tunedgemm::Context context({.backend = TUNEDGEMM_BACKEND_CUDA,
                                    .cache_path = "",
                                    .policy = TUNEDGEMM_POLICY_TUNE,
                                    .tune_seconds = 100,
                                    .tune_candidates = 2});
  const std::span<const tunedgemm::Problem> list(all);
  context.prepare(list.first(1));
  const std::ptrdiff_t before = threads();
  const auto have_ended = [&] { return comes_true([&] { return threads() == before; }); };
  std::vector<bool> compile;  // whether the threads exist after each problem
  const auto note = [&](const tunedgemm::Progress& progress) {
    const bool is_last = progress.index + 1 == progress.count;
    compile.push_back(is_last ? !have_ended() : threads() > before);
  };
  SECTION("if the whole list is tuned") {
    context.prepare(list, {}, note);
    CHECK(compile == std::vector{false, true, false});
    CHECK(have_ended());
  }
  SECTION("if it is stopped") {
    context.prepare(list, {}, [&](const tunedgemm::Progress& progress) {
      note(progress);
      return progress.index == 1;
    });
    CHECK(compile == std::vector{false, true});
    CHECK(have_ended());
  }
}

}  // namespace tunedgemm::internal::fake_cuda
