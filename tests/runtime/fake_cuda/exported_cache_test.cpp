// A cache exported on one machine works on another, whose NVRTC has another version or does not
// work.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "runtime/calls/arguments.h"
#include "tests/runtime/fake_cuda/fake_gpu.h"
#include "tests/support/catch.h"
#include "tests/support/environment_variable.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal::fake_cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLengths[] = {32, 64, 512};

std::unique_ptr<Context> context_on(const fs::path& cache, Policy policy) {
  ContextOptions options;
  options.backend = &cuda_backend();
  options.store.path = cache;
  options.policy = policy;
  options.budget = {.seconds = 100, .candidates = 3};
  return Context::create(options);
}

// Runs and checks all products; returns their candidates.
std::vector<Candidate> run_all(Context& context) {
  std::vector<Candidate> candidates;
  for (const std::int64_t k : kLengths) {
    const SmallProduct product(k);
    const CheckedCall call = checked_call(call_key(product.problem(), product.buffers()));
    const Plan& plan = context.plan(call, nullptr, {}, "");
    CHECK(plan.is_final);
    CHECK(launch(plan, product.buffers(), nullptr) == 0);
    CHECK(product.is_right());
    candidates.push_back(plan.candidate);
  }
  return candidates;
}

}  // namespace

TEST_CASE("An exported cache compiles nothing with another NVRTC, or with none that works") {
  const TemporaryFolder folder;
  const fs::path exported = folder.path() / "exported.db";
  std::vector<Candidate> tuned;
  {
    const FakeGpu gpu;
    const auto context = context_on(folder.path() / "cache.db", Policy::kTune);
    tuned = run_all(*context);
    REQUIRE(context->store().export_to(exported).empty());
  }
  const fs::path other = folder.path() / "libnvrtc.so.12.4", broken = folder.path() / "broken";
  fs::copy_file(TUNEDGEMM_FAKE_NVRTC, other);
  fs::create_directory(broken);
  std::ofstream(broken / "libnvrtc.so.13.0") << "not a library";

  for (const fs::path& nvrtc : {other, broken / "libnvrtc.so.13.0"}) {
    const EnvironmentVariable named("TUNEDGEMM_NVRTC", nvrtc);
    for (const Policy policy : {Policy::kTune, Policy::kCompile, Policy::kStored, Policy::kFail}) {
      INFO(nvrtc << ", policy " << name(policy));
      const fs::path shipped = folder.path() / "shipped.db";
      fs::remove(shipped);
      fs::copy_file(exported, shipped);
      const FakeGpu gpu;
      const auto context = context_on(shipped, policy);
      CHECK(run_all(*context) == tuned);
      CHECK(context->kernel_counters().compiled == 0);
      CHECK(control().calls()["nvrtcCompileProgram"] == 0);
    }
  }
}

TEST_CASE("Another GPU of the same architecture runs an exported cache until it is tuned there") {
  const TemporaryFolder folder;
  const fs::path shipped = folder.path() / "shipped.db", cache = folder.path() / "cache.db";
  std::vector<Candidate> tuned;
  {
    const FakeGpu gpu;
    const auto context = context_on(folder.path() / "first.db", Policy::kTune);
    tuned = run_all(*context);
    REQUIRE(context->store().export_to(shipped).empty());
  }
  const EnvironmentVariable system_cache("TUNEDGEMM_SYSTEM_CACHE", shipped);
  const FakeGpu gpu;
  control().name_devices("Another Fake GPU");
  const SmallProduct product(kLengths[0]);
  tunedgemm_problem problem = product.problem();
  const auto plan_in = [&](Context& context) -> const Plan& {
    const Plan& plan =
        context.plan(checked_call(call_key(problem, product.buffers())), nullptr).newest();
    CHECK(launch(plan, product.buffers(), nullptr) == 0);
    return plan;
  };
  for (const Policy policy : {Policy::kStored, Policy::kTuneInBackground}) {
    const auto context = context_on(cache, policy);
    context->freeze();
    problem.m = SmallProduct::kM;
    const Plan& same = plan_in(*context);
    CHECK(product.is_right());
    CHECK_FALSE(same.is_final);
    CHECK(same.candidate == tuned[0]);
    CHECK_THAT(same.description, Catch::Matchers::ContainsSubstring("(tuned on Fake GPU"));
    problem.m = 12;
    const Plan& other_m = plan_in(*context);
    CHECK_THAT(context->description(other_m),
               Catch::Matchers::ContainsSubstring("(served from M = 16, tuned on Fake GPU"));
    problem.n = 20;
    CHECK_THAT(plan_in(*context).description,
               Catch::Matchers::ContainsSubstring("the nearest stored kernel, tuned on Fake GPU"));
    problem.n = SmallProduct::kN;
    CHECK(context->kernel_counters().compiled == 0);
    CHECK(context->store().requests(context->device().identity()).size() == 3);
  }
  // The winners of this GPU come first.
  problem.m = SmallProduct::kM;
  CHECK(plan_in(*context_on(cache, Policy::kTune)).is_final);
  const auto context = context_on(cache, Policy::kStored);
  CHECK(plan_in(*context).is_final);
  problem.m = 12;
  CHECK_THAT(context->description(plan_in(*context)),
             Catch::Matchers::ContainsSubstring("served from M = 16, expected within"));
}

TEST_CASE("An exported layer in a read-only folder opens no NVRTC, whatever M is") {
  const TemporaryFolder folder;
  const fs::path image = folder.path() / "image", exported = image / "exported.db";
  fs::create_directory(image);
  {
    const FakeGpu gpu;
    const auto context = context_on(folder.path() / "cache.db", Policy::kTune);
    run_all(*context);
    REQUIRE(context->store()
                .export_to(exported,
                           [](const WinnerWithState& winner) {
                             return winner.record.problem->k == kLengths[0];
                           })
                .empty());
  }
  const auto written = fs::last_write_time(exported);
  fs::permissions(image, fs::perms::owner_read | fs::perms::owner_exec);
  const EnvironmentVariable system_cache("TUNEDGEMM_SYSTEM_CACHE", exported);
  {
    const FakeGpu gpu;
    ContextOptions options;
    options.backend = &cuda_backend();
    options.policy = Policy::kStored;
    options.store.access = StoreOptions::Access::kMemoryOnly;
    const auto context = Context::create(options);
    const SmallProduct product(kLengths[0]);
    tunedgemm_problem problem = product.problem();
    const auto plan_of = [&]() -> const Plan& {
      return context->plan(checked_call(call_key(problem, product.buffers())), nullptr);
    };
    const Plan& tuned = plan_of();
    CHECK(tuned.is_final);
    CHECK(launch(tuned, product.buffers(), nullptr) == 0);
    CHECK(product.is_right());
    problem.m = 12;
    CHECK_THAT(plan_of().description, Catch::Matchers::ContainsSubstring("served from M = "));
    CHECK(context->kernel_counters().compiled == 0);
    for (const auto& [function, calls] : control().calls()) {
      INFO(function << ": " << calls);
      CHECK_FALSE(function.starts_with("nvrtc"));
    }
  }
  fs::permissions(image, fs::perms::owner_all);
  CHECK(fs::last_write_time(exported) == written);
  CHECK(std::distance(fs::directory_iterator(image), fs::directory_iterator()) == 1);
}

}  // namespace tunedgemm::internal::fake_cuda
