// Every call of the driver and of NVRTC may fail, once or permanently: the library's call succeeds
// or fails with a message, leaves nothing behind, and after a temporary failure the next call
// succeeds.

#include <iterator>
#include <map>
#include <string>

#include "tests/runtime/fake_cuda/fake_gpu.h"
#include "tests/support/catch.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::internal::fake_cuda {
namespace {

constexpr cuda::CUresult kUnknown = 999, kIllegalAddress = 700;

// Opens a context and multiplies through the C interface.
class Program {
 public:
  explicit Program(tunedgemm_policy policy) : options_(c_options(policy)) {}
  ~Program() { tunedgemm_context_destroy(context_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Empty if the product is right, or refused with a message if that is allowed.
  std::string why_not(const SmallProduct& product, bool may_be_refused) {
    product.erase();
    tunedgemm_status status = TUNEDGEMM_STATUS_OK;
    if (context_ == nullptr) {
      status = tunedgemm_context_create(&options_, &context_);
    }
    const tunedgemm_buffers buffers = product.buffers();
    if (status == TUNEDGEMM_STATUS_OK) {
      status = tunedgemm_matmul(context_, &product.problem(), &buffers, nullptr);
    }
    if (status == TUNEDGEMM_STATUS_OK) {
      return product.is_right() ? "" : "wrong without an error";
    }
    const std::string sentence = tunedgemm_error_message();
    if (status == TUNEDGEMM_STATUS_INTERNAL || sentence.empty()) {
      return std::string(tunedgemm_status_name(status)) + ": " + sentence;
    }
    return may_be_refused ? "" : sentence;
  }

 private:
  tunedgemm_context_options options_;
  tunedgemm_context* context_ = nullptr;
};

std::map<std::string, int> calls_of(tunedgemm_policy policy) {
  const FakeGpu gpu;
  const SmallProduct product;
  const OnDevice other(1);
  const std::map<std::string, int> before = control().calls();
  Program program(policy);
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
                                 {kIllegalAddress, Lasts::kForEver}};

// The errors if the nth call of the function fails. The caller's thread uses another device, to
// detect calls that forget to make the context current.
std::string why_not_with(tunedgemm_policy policy, const std::string& function, int nth,
                         const Failure& failure) {
  const FakeGpu gpu;
  std::string wrong;
  {
    const SmallProduct product;
    const OnDevice other(1);
    Program program(policy);
    control().fail(function, nth, failure.error, failure.lasts);
    wrong = program.why_not(product, true);
    if (wrong.empty()) {
      wrong = program.why_not(product, failure.lasts == Lasts::kForEver);
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

}  // namespace

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
