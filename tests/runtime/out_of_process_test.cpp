// A program that asks for a worker, through the public interface.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/runtime/support/worker_bench.h"
#include "tests/support/catch.h"
#include "tests/support/comes_true.h"
#include "tunedgemm/tunedgemm.hpp"

namespace tunedgemm {
namespace {

// Empty if D is right.
std::string multiply(const Context& context) {
  constexpr int kM = 33, kN = 47, kK = 29;
  const std::vector<float> a(kM * kK, 2), b(kK * kN, 3);
  std::vector<float> d(kM * kN, std::nanf(""));
  tuned_matmul(context, {.m = kM, .n = kN, .k = kK}, {.a = a.data(), .b = b.data(), .d = d.data()});
  const bool right =
      std::all_of(d.begin(), d.end(), [](float value) { return value == 6.0F * kK; });
  return right ? "" : "the result is wrong";
}

ContextOptions asking_for_worker(const std::string& cache, const char* worker) {
  return {.backend = TUNEDGEMM_BACKEND_HOST,
          .host_threads = 2,
          .cache_path = cache.c_str(),
          .rigor = TUNEDGEMM_QUICK,
          .tune_seconds = 4,
          .tune_candidates = 2,
          .out_of_process = worker};
}

}  // namespace

TEST_CASE("A program that asks for a worker lives and gets the right result") {
  const WorkerBench bench;
  const std::string body = GENERATE(as<std::string>(), "__builtin_trap()", "*(volatile int*)1 = 0",
                                    "void _exit(int); _exit(0)");
  CAPTURE(body);
  bench.break_kernels("*) make '" + body + "' ;;");
  const Context context(asking_for_worker(bench.cache(), TUNEDGEMM_WORKER_PROGRAM));
  CHECK(multiply(context) == "");
  CHECK(multiply(context) == "");
}

TEST_CASE("Where no worker can be started, candidates run in the process itself") {
  const WorkerBench bench;
  const char* const program = GENERATE("/nonexistent/program", "/bin/true", "/bin/cat");
  CAPTURE(program);
  const Context context(asking_for_worker(bench.cache(), program));
  CHECK(multiply(context) == "");
}

TEST_CASE("A worker is found by $TUNEDGEMM_WORKER") {
  const WorkerBench bench;
  setenv("TUNEDGEMM_WORKER", TUNEDGEMM_WORKER_PROGRAM, 1);
  const Context context(asking_for_worker(bench.cache(), ""));
  unsetenv("TUNEDGEMM_WORKER");
  CHECK(multiply(context) == "");
  CHECK(bench.workers().size() == 1);
}

TEST_CASE("Tuning in the background has a worker, too") {
  const WorkerBench bench;
  const std::string cache = bench.cache();
  ContextOptions options = asking_for_worker(cache, TUNEDGEMM_WORKER_PROGRAM);
  options.policy = TUNEDGEMM_POLICY_BACKGROUND;
  Context context(options);
  CHECK(multiply(context) == "");
  CHECK(comes_true([&] { return !bench.workers().empty(); }));
  CHECK(comes_true(
      [&] { return context.report().find("1 of these replaced") != std::string::npos; }));
  context.freeze();
  CHECK(multiply(context) == "");
}

}  // namespace tunedgemm
