// Checks our requests to cuBLASLt, which a fake library records. The numbers are from cuBLASLt's
// manual.

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "runtime/backend.h"
#include "tests/support/catch.h"
#include "tests/tools/fake_cublaslt/fake_cublas.h"
#include "tests/tools/fake_cublaslt/fake_cublaslt.h"
#include "tools/baselines/baseline.h"

namespace tunedgemm::internal {
namespace {

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

constexpr int kTransposeA = 3, kTransposeB = 4, kFastAccumulation = 25;
constexpr int kEpilogue = 7, kBiasPointer = 8, kBiasType = 26;
constexpr int kScalePointerA = 17, kScalePointerB = 18, kScaleModeA = 31, kScaleModeB = 32;
constexpr int kLeastAlignmentOfA = 5, kLeastAlignmentOfB = 6, kLeastAlignmentOfD = 8;
constexpr int kF16 = 2, kE4M3 = 28, kE5M2 = 29;

class FakeCublasLt {
 public:
  FakeCublasLt() {
    setenv("TUNEDGEMM_CUBLASLT", TUNEDGEMM_FAKE_CUBLASLT, 1);
    baseline_ = open_cublaslt(*device_, &why_not);
    unsetenv("TUNEDGEMM_CUBLASLT");
    CAPTURE(why_not);
    REQUIRE(baseline_);
    void* library = dlopen(TUNEDGEMM_FAKE_CUBLASLT, RTLD_NOW);
    using LastCall = const FakeCall* (*)();
    last_call_ = reinterpret_cast<LastCall>(dlsym(library, "fake_cublaslt_last_call"))();
    void* cublas = dlopen(TUNEDGEMM_FAKE_CUBLAS, RTLD_NOW);
    using LastProduct = const FakeProduct* (*)();
    last_product_ = reinterpret_cast<LastProduct>(dlsym(cublas, "fake_cublas_last_product"))();
  }

  Baseline& baseline() { return *baseline_; }
  const FakeCall& last_call() const { return *last_call_; }
  const FakeProduct& last_product() const { return *last_product_; }
  std::ptrdiff_t proposals(const Problem& problem) {
    const auto all = baseline_->proposals({problem, 1}, 8, &why_not);
    return std::ranges::count_if(
        all, [](const Proposal& proposal) { return proposal.name.starts_with("cublaslt "); });
  }

  std::string why_not;

 private:
  std::unique_ptr<Device> device_ = host_backend().open({.host_threads = 1});
  std::unique_ptr<Baseline> baseline_;
  const FakeCall* last_call_ = nullptr;
  const FakeProduct* last_product_ = nullptr;
};

Problem fp8_problem(Numerics numerics) {
  Problem problem =
      make_problem(64, 96, 128, DataType::kE4M3, DataType::kE5M2, DataType::kF16, "nt");
  problem.numerics = numerics;
  return problem;
}

TEST_CASE("cuBLASLt gets the scales of fp8 inputs within alpha") {
  FakeCublasLt fake;
  const VerifiedProblem verified(fp8_problem(Numerics::kFast), 1);
  const auto proposals = fake.baseline().proposals(verified, 8, &fake.why_not);
  CAPTURE(fake.why_not);
  REQUIRE(proposals.size() == 2);
  Arguments arguments{};
  arguments.alpha = 0.75;
  REQUIRE(proposals[0].kernel->run({}, arguments, nullptr) == 0);
  REQUIRE(fake.last_call().alpha == Approx(0.75 * verified.scale(0, 0, 0)));
}

TEST_CASE("cuBLASLt gets the scales of rows and blocks in its own layout") {
  FakeCublasLt fake;
  Problem problem = fp8_problem(Numerics::kPromoted);
  problem.m = 64, problem.n = 160, problem.k = 304;
  const auto check = [&](Scaling scaling_a, std::int64_t mode_a, Scaling scaling_b,
                         std::int64_t mode_b, auto offset_a, auto offset_b) {
    problem.scaling_a = scaling_a;
    problem.scaling_b = scaling_b;
    const VerifiedProblem verified(problem, 7);
    const auto proposals = fake.baseline().proposals(verified, 8, &fake.why_not);
    CAPTURE(fake.why_not);
    REQUIRE(proposals.size() == 2);
    const auto& operation = fake.last_call().operation;
    CHECK(operation.at(kScaleModeA) == mode_b);  // our B is its A
    CHECK(operation.at(kScaleModeB) == mode_a);
    const auto* scales_b = reinterpret_cast<const float*>(operation.at(kScalePointerA));
    const auto* scales_a = reinterpret_cast<const float*>(operation.at(kScalePointerB));
    for (std::int64_t k = 0; k < problem.k; k += 60) {
      for (std::int64_t m = 0; m < problem.m; ++m) {
        CHECK(static_cast<double>(scales_a[offset_a(m, k / 128)]) ==
              reference::scale_value(verified.scale_a(), 0, m, k));
      }
      for (std::int64_t n = 0; n < problem.n; ++n) {
        CHECK(static_cast<double>(scales_b[offset_b(n, k / 128)]) ==
              reference::scale_value(verified.scale_b(), 0, n, k));
      }
    }
    Arguments arguments{};
    arguments.alpha = 0.75;
    REQUIRE(proposals[0].kernel->run({}, arguments, nullptr) == 0);
    CHECK(fake.last_call().alpha == 0.75);
  };
  const auto row = [](std::int64_t index, std::int64_t) { return index; };
  check(Scaling::kRow, 3, Scaling::kRow, 3, row, row);
  check(
      Scaling::kBlock1x128, 4, Scaling::kBlock128x128, 5,
      [](std::int64_t m, std::int64_t block) { return m + 64 * block; },
      [](std::int64_t n, std::int64_t block) { return n / 128 * 4 + block; });
  problem.scaling_a = Scaling::kRow;
  CHECK(fake.proposals(problem) == 0);
  CHECK_THAT(fake.why_not, ContainsSubstring("no such pair of scales"));
}

TEST_CASE("cuBLASLt accumulates fp8 fast or with promotion as the problem requires") {
  FakeCublasLt fake;
  REQUIRE(fake.proposals(fp8_problem(Numerics::kFast)) == 2);
  REQUIRE(fake.last_call().operation.at(kFastAccumulation) == 1);
  REQUIRE(fake.proposals(fp8_problem(Numerics::kPromoted)) == 2);
  REQUIRE(fake.last_call().operation.at(kFastAccumulation) == 0);
}

TEST_CASE("A row-major nt problem is cuBLASLt's TN with B first") {
  FakeCublasLt fake;
  REQUIRE(fake.proposals(fp8_problem(Numerics::kFast)) == 2);
  const FakeCall& call = fake.last_call();
  REQUIRE(call.operation.at(kTransposeA) == 1);
  REQUIRE(call.operation.at(kTransposeB) == 0);
  const FakeAttributes b{
      {kFakeType, kE5M2}, {kFakeRows, 128}, {kFakeColumns, 96}, {kFakeStride, 128}};
  const FakeAttributes a{
      {kFakeType, kE4M3}, {kFakeRows, 128}, {kFakeColumns, 64}, {kFakeStride, 128}};
  const FakeAttributes d{{kFakeType, kF16}, {kFakeRows, 96}, {kFakeColumns, 64}, {kFakeStride, 96}};
  REQUIRE(call.layouts[0] == b);
  REQUIRE(call.layouts[1] == a);
  REQUIRE(call.layouts[2] == d);  // C has D's type even if unused
  REQUIRE(call.layouts[3] == d);
}

TEST_CASE("cuBLASLt gets C's own layout and the alignment of unaligned rows") {
  FakeCublasLt fake;
  Problem problem = make_problem(64, 96, 128, DataType::kF16, DataType::kF16, DataType::kF16);
  REQUIRE(fake.proposals(problem) == 2);
  REQUIRE_FALSE(fake.last_call().preference.contains(kLeastAlignmentOfA));
  problem.beta = ScalarClass::kOther;
  problem.c.leading_dimension = 104;
  problem.a.leading_dimension = 129;
  problem.a.alignment_bytes = 2;
  REQUIRE(fake.proposals(problem) == 2);
  const FakeCall& call = fake.last_call();
  REQUIRE(call.layouts[2].at(kFakeStride) == 104);
  REQUIRE(call.layouts[3].at(kFakeStride) == 96);
  REQUIRE(call.preference.at(kLeastAlignmentOfB) == 2);  // our A is its B
  REQUIRE_FALSE(call.preference.contains(kLeastAlignmentOfD));
}

TEST_CASE("cuBLASLt fuses relu, gelu and an aligned bias of D's type") {
  FakeCublasLt fake;
  Problem problem = fp8_problem(Numerics::kFast);
  REQUIRE(fake.proposals(problem) == 2);
  CHECK_FALSE(fake.last_call().operation.contains(kEpilogue));
  const auto epilogue = [&](Activation activation, Bias bias) {
    problem.activation = activation;
    problem.bias = bias;
    REQUIRE(fake.proposals(problem) == 2);
    return fake.last_call().operation.at(kEpilogue);
  };
  CHECK(epilogue(Activation::kRelu, Bias::kNone) == 2);
  CHECK(epilogue(Activation::kGeluTanh, Bias::kNone) == 32);
  CHECK_FALSE(fake.last_call().operation.contains(kBiasPointer));
  CHECK(epilogue(Activation::kNone, Bias::kPerColumn) == 4);
  CHECK(epilogue(Activation::kRelu, Bias::kPerColumn) == 6);
  CHECK(epilogue(Activation::kGeluTanh, Bias::kPerColumn) == 36);
  CHECK(fake.last_call().operation.at(kBiasType) == kF16);
  // The operands' bias is not aligned, whatever the matrices are.
  CHECK(fake.last_call().operation.at(kBiasPointer) != 0);
  CHECK(fake.last_call().operation.at(kBiasPointer) % 16 == 0);
}

TEST_CASE("The call of cublas is a proposal of its own, with B first and its own workspace") {
  FakeCublasLt fake;
  Problem problem = make_problem(64, 96, 128, DataType::kF16, DataType::kF16, DataType::kF32, "nt");
  problem.beta = ScalarClass::kOther;
  problem.c_is_d = true;
  problem.d.leading_dimension = problem.c.leading_dimension = 104;
  const int a = 0, b = 0;
  int d = 0;
  Arguments arguments{};
  arguments.a = &a, arguments.b = &b, arguments.c = arguments.d = &d;
  arguments.alpha = 2, arguments.beta = 3;
  const auto run = [&] {
    const auto proposals = fake.baseline().proposals({problem, 1}, 1, &fake.why_not);
    REQUIRE(proposals.size() == 2);
    CHECK(proposals[0].name == "cublaslt 0");
    CHECK(proposals[1].name == "cublas");
    for (int call = 0; call < 2; ++call) {
      REQUIRE(proposals[1].kernel->run({}, arguments, nullptr) == 0);
      CHECK(fake.last_product().is_prepared);
    }
    CHECK(fake.last_product().a == &b);
    CHECK(fake.last_product().b == &a);
    CHECK(fake.last_product().c == &d);
    CHECK(fake.last_product().alpha == 2);
    CHECK(fake.last_product().beta == 3);
    return fake.last_product();
  };
  const FakeProduct product = run();
  CHECK_FALSE(product.is_batched);
  CHECK(product.numbers ==
        std::vector<std::int64_t>{1, 0, 96, 64, 128, kF16, 128, kF16, 128, 0, 104, 68, -1});
  problem = make_problem(64, 96, 128, DataType::kS8, DataType::kS8, DataType::kS32, "nt");
  problem.batch = 5;
  problem.a.batch_stride = 7000, problem.b.batch_stride = 8000, problem.d.batch_stride = 9000;
  const FakeProduct batched = run();
  CHECK(batched.is_batched);
  CHECK(batched.numbers == std::vector<std::int64_t>{1, 0, 96, 64, 128, 3, 128, 3, 128, 10, 96, 72,
                                                     -1, 8000, 7000, 9000, 5});
}

TEST_CASE("The call of cublas takes no part with fp8, an epilogue or a C of its own") {
  FakeCublasLt fake;
  const auto has_cublas = [&](const Problem& problem) {
    const auto all = fake.baseline().proposals({problem, 1}, 8, &fake.why_not);
    REQUIRE(all.size() >= 2);
    return all.back().name == "cublas";
  };
  CHECK_FALSE(has_cublas(fp8_problem(Numerics::kFast)));
  Problem problem = make_problem(64, 96, 128, DataType::kF16, DataType::kF16, DataType::kF16);
  CHECK(has_cublas(problem));
  problem.beta = ScalarClass::kOne;
  CHECK_FALSE(has_cublas(problem));
  problem.c_is_d = true;
  CHECK(has_cublas(problem));
  problem.activation = Activation::kRelu;
  CHECK_FALSE(has_cublas(problem));
}

TEST_CASE("A problem that is not raced against cuBLASLt gets a reason") {
  FakeCublasLt fake;
  Problem problem = make_problem(64, 96, 128, DataType::kF16, DataType::kF16, DataType::kF16);
  problem.activation = Activation::kSilu;
  REQUIRE(fake.proposals(problem) == 0);
  REQUIRE_THAT(fake.why_not, ContainsSubstring("fused activations"));
  problem.activation = Activation::kRelu;
  problem.bias = Bias::kPerRow;
  REQUIRE(fake.proposals(problem) == 0);
  REQUIRE_THAT(fake.why_not, ContainsSubstring("a bias per column"));
  problem = make_problem(64, 96, 128, DataType::kF32, DataType::kF32, DataType::kF32);
  problem.numerics = Numerics::kEmulated;
  REQUIRE(fake.proposals(problem) == 0);
  REQUIRE_THAT(fake.why_not, ContainsSubstring("emulation"));
}

}  // namespace
}  // namespace tunedgemm::internal
