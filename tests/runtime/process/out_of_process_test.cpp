// A program that asks for a worker, through the public interface.

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tests/runtime/support/worker_bench.h"
#include "tests/support/catch.h"
#include "tests/support/comes_true.h"
#include "tunedgemm/tunedgemm.hpp"

namespace tunedgemm::internal {
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

TEST_CASE("A program that is no worker holds no call") {
  const WorkerBench bench;
  const std::string program = bench.cache() + "-worker";
  const std::string script =
      GENERATE(as<std::string>(), "while :; do sleep 100; done", "while :; do echo ready; done >&0",
               "echo ready >&0; sleep 100", "trap '' TERM; printf tuning-worker >&0; sleep 100");
  CAPTURE(script);
  std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
  REQUIRE(chmod(program.c_str(), 0700) == 0);
  const auto begin = std::chrono::steady_clock::now();
  const Context context(asking_for_worker(bench.cache(), program.c_str()));
  CHECK(multiply(context) == "");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
}

TEST_CASE("A worker that asks for a worker gets none") {
  const WorkerBench bench;
  const std::string program = bench.cache() + "-worker", seen = bench.cache() + "-seen";
  std::ofstream(program) << "#!/bin/sh\necho \"$TUNEDGEMM_WORKER\" >" << seen << "\n";
  REQUIRE(chmod(program.c_str(), 0700) == 0);
  const Context context(asking_for_worker(bench.cache(), program.c_str()));
  CHECK(multiply(context) == "");
  std::string value;
  std::ifstream(seen) >> value;
  REQUIRE(value == "none");

  setenv("TUNEDGEMM_WORKER", value.c_str(), 1);
  const Context worker(asking_for_worker(bench.cache(), TUNEDGEMM_WORKER_PROGRAM));
  unsetenv("TUNEDGEMM_WORKER");
  CHECK(multiply(worker) == "");
  CHECK(bench.workers().empty());
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

TEST_CASE("What a call and a report say is fit to be shown") {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "\x1b[31m\xff" / "cache.db";
  Context context(ContextOptions{.backend = TUNEDGEMM_BACKEND_HOST, .cache_path = path.c_str()});
  CHECK_THAT(context.report(), Catch::Matchers::ContainsSubstring("\\u001b[31m\\xff"));
  setenv("TUNEDGEMM_POLICY", "\x1b[31m", 1);
  std::string message;
  try {
    const Context refused(ContextOptions{.backend = TUNEDGEMM_BACKEND_HOST, .cache_path = ""});
  } catch (const Error& error) {
    message = error.what();
  }
  unsetenv("TUNEDGEMM_POLICY");
  CHECK_THAT(message, Catch::Matchers::ContainsSubstring("\\u001b[31m"));
}

}  // namespace tunedgemm::internal
