// Every call of the driver and of NVRTC may fail, once or permanently. The library's call must
// succeed or fail with a message, and leave nothing behind. After a temporary failure the next call
// must succeed. If a stored kernel computes the problem, the call must succeed.

#include <iostream>
#include <iterator>
#include <map>
#include <string>

#include "tests/runtime/fake_cuda/fake_gpu.h"
#include "tests/runtime/support/c_program.h"
#include "tests/runtime/support/cache_with_neighbour.h"
#include "tests/support/catch.h"
#include "tests/support/sql.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::internal::fake_cuda {
namespace {

constexpr cuda::CUresult kUnknown = 999, kIllegalAddress = 700;

std::map<std::string, int> calls_of(tunedgemm_policy policy, const std::string& cache = "") {
  const FakeGpu gpu;
  const SmallProduct product;
  const OnDevice other(1);
  const std::map<std::string, int> before = control().calls();
  CProgram program(c_options(policy), cache);
  REQUIRE(program.why_not(product, false) == "");
  std::map<std::string, int> calls = control().calls();
  for (const auto& [function, count] : before) {
    calls[function] -= count;
  }
  return calls;
}

struct Failure {
  cuda::CUresult error;
  Lasts lasts;
};
constexpr Failure kFailures[] = {{cuda::CUDA_ERROR_OUT_OF_MEMORY, Lasts::kOnce},
                                 {kUnknown, Lasts::kOnce},
                                 {kIllegalAddress, Lasts::kDeviceIsLost}};

// Makes the nth call of the function fail; returns the errors. The caller's thread uses another
// device, to detect calls that forget to make the context current.
std::string why_not_with(tunedgemm_policy policy, const std::string& function, int nth,
                         const Failure& failure) {
  const FakeGpu gpu;
  std::string wrong;
  {
    const SmallProduct product;
    const OnDevice other(1);
    CProgram program(c_options(policy));
    control().fail(function, nth, failure.error, failure.lasts);
    wrong = program.why_not(product, true);
    if (wrong.empty()) {
      wrong = program.why_not(product, failure.lasts == Lasts::kDeviceIsLost);
      wrong += wrong.empty() ? "" : " in the call after it";
    }
  }
  return wrong + FakeGpu::why_not_clean();
}

void fail_with(tunedgemm_policy policy, const std::string& function, int nth,
               const Failure& failure) {
  INFO("call " << nth << " of " << function << " fails with " << failure.error);
  CHECK(why_not_with(policy, function, nth, failure) == "");
}

CacheWithNeighbour cache_with_neighbour() {
  const FakeGpu gpu;
  const SmallProduct neighbour(2 * SmallProduct::kK);
  return CacheWithNeighbour(neighbour);
}

std::int64_t kernels_in(const std::string& path) {
  return sql_number(path, "SELECT count(*) FROM kernel");
}

// The effect of a failure on a call whose problem has a stored neighbour. The call may be refused
// only if every kernel needs the failing function.
struct Outcome {
  std::string wrong;
  bool was_refused = false;
};
Outcome outcome_beside_neighbour(const CacheWithNeighbour& cache, tunedgemm_policy policy,
                                 const std::string& function, const Failure& failure,
                                 bool is_needed) {
  const std::string path = cache.copy();
  const std::int64_t kernels = kernels_in(path);
  Outcome outcome;
  {
    const FakeGpu gpu;
    {
      const SmallProduct product;
      const OnDevice other(1);
      CProgram program(c_options(policy), path);
      control().fail(function, 1, failure.error, failure.lasts);
      outcome.wrong = program.why_not(product, is_needed);
      outcome.was_refused = program.was_refused();
      if (outcome.wrong.empty()) {
        outcome.wrong = program.why_not(product, is_needed && failure.lasts != Lasts::kOnce);
        outcome.wrong += outcome.wrong.empty() ? "" : " in the call after it";
      }
      control().fail("", 0, 0, Lasts::kOnce);
      if (outcome.wrong.empty()) {
        outcome.wrong = program.why_not(product, false);
        outcome.wrong += outcome.wrong.empty() ? "" : " after the failure has passed";
      }
    }
    outcome.wrong += FakeGpu::why_not_clean();
  }
  if (kernels_in(path) < kernels) {
    outcome.wrong += " a stored kernel was deleted";
  }
  return outcome;
}

}  // namespace

TEST_CASE("A stored kernel computes a call if any function fails that it does not need") {
  constexpr Failure kPassing[] = {{cuda::CUDA_ERROR_OUT_OF_MEMORY, Lasts::kOnce},
                                  {cuda::CUDA_ERROR_OUT_OF_MEMORY, Lasts::kAlways},
                                  {kUnknown, Lasts::kOnce},
                                  {kUnknown, Lasts::kAlways}};
  const CacheWithNeighbour cache = cache_with_neighbour();
  const std::map<std::string, int> needed = calls_of(TUNEDGEMM_POLICY_STORED, cache.copy());
  const auto is_needed = [&](const std::string& function) {
    const auto calls = needed.find(function);
    return calls != needed.end() && calls->second > 0;
  };
  for (const tunedgemm_policy policy :
       {TUNEDGEMM_POLICY_STORED, TUNEDGEMM_POLICY_COMPILE, TUNEDGEMM_POLICY_TUNE}) {
    int functions = 0, computed = 0, refused = 0;
    for (const auto& [function, count] : calls_of(policy, cache.copy())) {
      if (count == 0) {
        continue;
      }
      ++functions;
      for (const Failure& failure : kPassing) {
        INFO(function << " fails with " << failure.error << ", lasts "
                      << static_cast<int>(failure.lasts) << ", policy " << policy);
        const Outcome outcome =
            outcome_beside_neighbour(cache, policy, function, failure, is_needed(function));
        CHECK(outcome.wrong == "");
        ++(outcome.was_refused ? refused : computed);
      }
    }
    std::cout << "policy " << policy << ": " << functions
              << " functions, each fails in 4 ways: " << computed << " calls computed, " << refused
              << " refused with a message\n";
  }
}

TEST_CASE("A first call survives the failure of any driver call") {
  for (const auto& [function, count] : calls_of(TUNEDGEMM_POLICY_COMPILE)) {
    for (int nth = 1; nth <= count; ++nth) {
      for (const Failure& failure : kFailures) {
        fail_with(TUNEDGEMM_POLICY_COMPILE, function, nth, failure);
      }
    }
  }
}

TEST_CASE("A tuning survives the failure of each driver function") {
  std::size_t turn = 0;
  for (const auto& [function, count] : calls_of(TUNEDGEMM_POLICY_TUNE)) {
    for (const int nth : {1, 1 + count / 3}) {
      fail_with(TUNEDGEMM_POLICY_TUNE, function, nth, kFailures[turn++ % std::size(kFailures)]);
    }
  }
}

TEST_CASE("A tuning survives the failure of most driver calls", "[slow]") {
  for (const auto& [function, count] : calls_of(TUNEDGEMM_POLICY_TUNE)) {
    for (int nth = 1; nth <= count; nth += 1 + nth / 8) {
      for (const Failure& failure : kFailures) {
        fail_with(TUNEDGEMM_POLICY_TUNE, function, nth, failure);
      }
    }
  }
}

}  // namespace tunedgemm::internal::fake_cuda
