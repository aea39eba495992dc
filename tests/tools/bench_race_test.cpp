// Races our kernels against a fake library's proposals, on the host.

#include "tools/tunedgemm/bench_race.h"

#include <atomic>
#include <chrono>
#include <memory>

#include "tests/support/catch.h"
#include "tuner/remark.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr int kAlways = 1 << 30;

// Computes D = alpha * A * B + `offset`, row-major, in f32; fails after `good_launches` launches.
class SimpleProduct final : public CompiledKernel {
 public:
  SimpleProduct(float offset, int good_launches) : offset_(offset), good_launches_(good_launches) {}

  int run(const Launch&, const Arguments& arguments, StreamHandle) const noexcept override {
    const auto* a = static_cast<const float*>(arguments.a);
    const auto* b = static_cast<const float*>(arguments.b);
    auto* d = static_cast<float*>(arguments.d);
    for (long long m = 0; m < arguments.m; ++m) {
      for (long long n = 0; n < arguments.n; ++n) {
        double sum = 0;
        for (long long k = 0; k < arguments.k; ++k) {
          sum += static_cast<double>(a[m * arguments.lda + k]) *
                 static_cast<double>(b[k * arguments.ldb + n]);
        }
        d[m * arguments.ldd + n] = static_cast<float>(arguments.alpha * sum) + offset_;
      }
    }
    return ++launches_ > good_launches_ ? 1 : 0;
  }

 private:
  float offset_;
  int good_launches_;
  mutable std::atomic<int> launches_ = 0;
};

class FakeLibrary final : public Baseline {
 public:
  std::string name() const override { return "Fake"; }
  std::string version() const override { return "1"; }
  std::vector<Proposal> proposals(const VerifiedProblem&, int, std::string*) override {
    std::vector<Proposal> all;
    all.push_back({"fake 0", std::make_unique<SimpleProduct>(0.0F, kAlways)});
    all.push_back({"fake 1", std::make_unique<SimpleProduct>(1.0F, kAlways)});  // wrong
    all.push_back({"fake 2", std::make_unique<SimpleProduct>(0.0F, 0)});  // fails in the check
    all.push_back({"fake 3", std::make_unique<SimpleProduct>(0.0F, 1)});  // in the first sample
    return all;
  }
};

std::unique_ptr<Context> host_context() {
  ContextOptions options;
  options.backend = &host_backend();
  options.store.access = StoreOptions::Access::kMemoryOnly;
  return Context::create(options);
}

NamedProblem small_shape() {
  return {"", make_problem(24, 16, 8, DataType::kF32, DataType::kF32, DataType::kF32)};
}

Candidate naive() {
  return {find_family("naive_mnk"), Config{}};
}

TEST_CASE(
    "A race times ours and the baseline's kernels in the same rounds, and names the missing ones") {
  const auto context = host_context();
  FakeLibrary library;
  const BenchRow row = race_kernels(*context, small_shape(), {{"tuned", naive()}}, &library,
                                    {.rounds = 3, .cool_down = std::chrono::milliseconds(0)});
  REQUIRE(row.contenders.size() >= 2);
  CHECK(row.kernel == "naive_mnk");
  CHECK(row.contenders[0].name == "tuned");
  CHECK(row.contenders[0].max_error <= 1);
  CHECK(row.contenders[1].name == "fake 0");
  CHECK(row.contenders[1].kernel.empty());
  for (const BenchContender& contender : row.contenders) {
    CAPTURE(contender.name);
    CHECK(contender.median_us > 0);
    CHECK(contender.tflops > 0);
    // The wrong proposal races unless it is far behind; the failing proposals never race.
    CHECK((contender.name != "fake 2" && contender.name != "fake 3"));
  }
  REQUIRE(row.remarks.size() >= 3);  // one more on a busy machine
  CHECK_THAT(row.remarks[0], ContainsSubstring("fake 1: wrong"));
  CHECK_THAT(row.remarks[1], ContainsSubstring("fake 2: "));
  CHECK_THAT(row.remarks[2], ContainsSubstring("fake 3: "));
  const bool is_noisy = row.contenders[0].spread > kBusySpread;
  CHECK(row.remarks.size() == (is_noisy ? 4U : 3U));
}

TEST_CASE("A race of configs lists the rejected ones last, with their reasons") {
  const auto context = host_context();
  const NamedProblem shape = small_shape();
  const DeviceLimits& limits = context->device().limits();
  const Instance good = instantiate(shape.problem, naive(), limits).value();
  Instance broken = find_family("reordered_mkn")->candidates(shape.problem, limits).front();
  broken.defines.emplace_back("for", "no_such_name");
  const std::vector<Instance> configs{broken, good};
  const BenchRow row =
      race_configs(*context, shape, configs, {.rounds = 2, .cool_down = {}, .sample_us = 100});
  REQUIRE(row.contenders.size() == 2);
  CHECK_FALSE(row.contenders[0].rejection);
  CHECK(row.contenders[0].median_us > 0);
  CHECK(row.contenders[0].compile_ms > 0);
  REQUIRE(row.contenders[1].rejection);
  CHECK(row.contenders[1].rejection->reason == Reason::kCompileFailed);
  CHECK_THAT(row.contenders[1].rejection->detail, ContainsSubstring("no_such_name"));
  CHECK(row.contenders[1].median_us == 0);

  int asked = 0;
  const BenchRow cancelled = race_configs(
      *context, shape, configs, {.cool_down = {}, .cancelled = [&] { return ++asked > 3; }});
  REQUIRE(cancelled.contenders.size() == 2);
  CHECK(cancelled.contenders[0].median_us == 0);
}

}  // namespace
}  // namespace tunedgemm::internal
