// If NVRTC never returns, the call runs a stored kernel, and nothing else waits for NVRTC.

#include <chrono>

#include "kernel_templates/family.h"
#include "runtime/calls/arguments.h"
#include "runtime/context/checked_call.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/cuda/threaded_nvrtc.h"
#include "tests/runtime/fake_cuda/fake_gpu.h"
#include "tests/support/catch.h"
#include "tests/support/comes_true.h"

namespace tunedgemm::internal::fake_cuda {
namespace {

using namespace std::chrono_literals;

Source some_source() {
  Problem problem;
  problem.m = problem.n = problem.k = 64;
  problem = canonical(problem);
  const auto device = cuda_backend().open({});
  return ranked_candidates(problem, device->limits()).front().source();
}

class HangingNvrtc {
 public:
  HangingNvrtc() { control().hang_next_compilation(); }
  ~HangingNvrtc() { control().release_compilations(); }
  HangingNvrtc(const HangingNvrtc&) = delete;
  HangingNvrtc& operator=(const HangingNvrtc&) = delete;
};

}  // namespace

TEST_CASE(
    "A compilation that exceeds its limit is abandoned, and NVRTC is used again when it ends") {
  const FakeGpu gpu;
  const Source source = some_source();
  const cuda::ThreadedNvrtc nvrtc(*cuda::find_nvrtc());
  REQUIRE(std::holds_alternative<Binary>(nvrtc.compile(source, 90, 60s)));
  {
    const HangingNvrtc hanging;
    const auto abandoned = nvrtc.compile(source, 90, 20ms);
    REQUIRE(std::holds_alternative<CompileFailure>(abandoned));
    CHECK(std::get<CompileFailure>(abandoned).cause == CompileFailure::Cause::kTimeLimit);
    const auto refused = nvrtc.compile(source, 90, 60s);
    REQUIRE(std::holds_alternative<CompileFailure>(refused));
    CHECK(std::get<CompileFailure>(refused).cause == CompileFailure::Cause::kEnvironment);
    CHECK_THAT(nvrtc.why_not(90), Catch::Matchers::ContainsSubstring("NVRTC hangs"));
  }
  CHECK(comes_true([&] { return nvrtc.why_not(90).empty(); }));
  CHECK(std::holds_alternative<Binary>(nvrtc.compile(source, 90, 60s)));
}

TEST_CASE("A call whose compiler hangs runs a stored kernel") {
  const FakeGpu gpu;
  const SmallProduct product, neighbour(2 * SmallProduct::kK);
  ContextOptions options;
  options.backend = &cuda_backend();
  options.device.nvrtc_seconds = 0.02;
  options.policy = Policy::kTune;
  options.store.access = StoreOptions::Access::kMemoryOnly;
  options.budget = {.seconds = 0.1, .candidates = 4};
  const auto context = Context::create(options);
  TuneOptions tuning;
  tuning.budget.candidates = 1;
  const Problem tuned = to_problem(call_key(neighbour.problem(), neighbour.buffers()));
  REQUIRE(context->tune(tuned, tuning).record);
  {
    const HangingNvrtc hanging;
    const CheckedCall call = checked_call(call_key(product.problem(), product.buffers()));
    const Plan& plan = context->plan(call, nullptr, {}, "");
    REQUIRE(plan.kernel != nullptr);
    CHECK(launch(plan, product.buffers(), nullptr) == 0);
    CHECK(product.is_right());
    CHECK_FALSE(context->device().why_not_compile().empty());
  }
  CHECK(comes_true([&] { return context->device().why_not_compile().empty(); }));
}

}  // namespace tunedgemm::internal::fake_cuda
