// A cache exported on a GPU runs in a process whose NVRTC has another version, or does not work.
// $TUNEDGEMM_TEST_OTHER_NVRTC may name an additional NVRTC to test, such as that of a wheel.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "runtime/calls/arguments.h"
#include "runtime/context/context.h"
#include "runtime/cuda/nvrtc.h"
#include "tests/support/catch.h"
#include "tests/support/environment_variable.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<Context> context_on(const fs::path& cache, Policy policy) {
  ContextOptions options;
  options.backend = &cuda_backend();
  options.store.path = cache;
  options.policy = policy;
  options.rigor = Rigor::kQuick;
  options.budget = {.seconds = 100, .candidates = 6};
  return Context::create(options);
}

// Only makes the plans; captured_call_gpu_test.cpp runs plans.
std::vector<Candidate> candidates_of(Context& context) {
  std::vector<Candidate> candidates;
  for (const std::int64_t m : {16, 256, 1000}) {
    const tunedgemm_problem problem{.m = m,
                                    .n = 1024,
                                    .k = 2048,
                                    .type_a = TUNEDGEMM_TYPE_F16,
                                    .type_b = TUNEDGEMM_TYPE_F16,
                                    .type_d = TUNEDGEMM_TYPE_F16};
    const Plan& plan = context.plan(checked_call(call_key(problem, {})), nullptr, {}, "");
    CHECK(plan.is_final);
    CHECK(plan.kernel != nullptr);
    candidates.push_back(plan.candidate);
  }
  return candidates;
}

}  // namespace

TEST_CASE("On a GPU an exported cache compiles nothing with another NVRTC, or with none that works",
          "[gpu]") {
  std::string why_not;
  if (cuda_backend().device_count(&why_not) == 0) {
    TUNEDGEMM_SKIP("no CUDA device: " + why_not);
  }
  const auto nvrtc = cuda::find_nvrtc();
  if (!nvrtc) {
    TUNEDGEMM_SKIP("no NVRTC");
  }
  const TemporaryFolder folder;
  const fs::path exported = folder.path() / "exported.db";
  std::vector<Candidate> tuned;
  {
    const auto context = context_on(folder.path() / "cache.db", Policy::kTune);
    tuned = candidates_of(*context);
    REQUIRE(context->store().export_to(exported).empty());
  }
  const fs::path broken = folder.path() / "broken" / "libnvrtc.so.13.0";
  fs::create_directory(broken.parent_path());
  std::ofstream(broken) << "not a library";
  const fs::path renamed = folder.path() / "libnvrtc.so.12.4";
  fs::copy_file(nvrtc->path, renamed);
  std::vector<fs::path> others{broken, renamed};
  if (const char* named = std::getenv("TUNEDGEMM_TEST_OTHER_NVRTC")) {
    others.emplace_back(named);
  }
  for (const fs::path& other : others) {
    const EnvironmentVariable use("TUNEDGEMM_NVRTC", other);
    for (const Policy policy : {Policy::kTune, Policy::kCompile, Policy::kStored, Policy::kFail}) {
      const fs::path shipped = folder.path() / "shipped.db";
      fs::remove(shipped);
      fs::copy_file(exported, shipped);
      const auto context = context_on(shipped, policy);
      INFO(other << ", policy " << name(policy) << ", " << context->device().toolchain().compiler);
      CHECK(candidates_of(*context) == tuned);
      CHECK(context->kernel_counters().compiled == 0);
    }
  }
}

}  // namespace tunedgemm::internal
