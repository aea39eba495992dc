// Calls with the fields invariant and sm_limit, tuned and served on a GPU.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "kernel_templates/base/sha256.h"
#include "kernel_templates/cuda/reference/element.cuh"
#include "kernel_templates/problem/data_type.h"
#include "tests/runtime/support/c_program.h"
#include "tests/runtime/support/captured_graph.h"
#include "tests/support/catch.h"
#include "tests/support/device_fixture.h"
#include "tests/support/seed.h"

namespace tunedgemm::internal {
namespace {

struct Layer {
  tunedgemm_type in, out;
  tunedgemm_numerics numerics;
  std::int64_t n, k;
};
constexpr Layer kLayers[] = {
    {TUNEDGEMM_TYPE_BF16, TUNEDGEMM_TYPE_BF16, TUNEDGEMM_NUMERICS_DEFAULT, 4096, 4096},
    {TUNEDGEMM_TYPE_BF16, TUNEDGEMM_TYPE_BF16, TUNEDGEMM_NUMERICS_DEFAULT, 6144, 4096},
    {TUNEDGEMM_TYPE_BF16, TUNEDGEMM_TYPE_BF16, TUNEDGEMM_NUMERICS_DEFAULT, 4096, 14336},
    {TUNEDGEMM_TYPE_F16, TUNEDGEMM_TYPE_F16, TUNEDGEMM_NUMERICS_DEFAULT, 5120, 5120},
    {TUNEDGEMM_TYPE_F16, TUNEDGEMM_TYPE_F16, TUNEDGEMM_NUMERICS_DEFAULT, 3072, 8192},
    {TUNEDGEMM_TYPE_E4M3, TUNEDGEMM_TYPE_BF16, TUNEDGEMM_NUMERICS_FAST, 7168, 2048},
    {TUNEDGEMM_TYPE_E4M3, TUNEDGEMM_TYPE_BF16, TUNEDGEMM_NUMERICS_FAST, 4096, 7168},
    {TUNEDGEMM_TYPE_E4M3, TUNEDGEMM_TYPE_BF16, TUNEDGEMM_NUMERICS_PROMOTED, 7168, 2048},
    {TUNEDGEMM_TYPE_E4M3, TUNEDGEMM_TYPE_BF16, TUNEDGEMM_NUMERICS_PROMOTED, 4096, 7168},
    {TUNEDGEMM_TYPE_F32, TUNEDGEMM_TYPE_F32, TUNEDGEMM_NUMERICS_IEEE, 2048, 2048}};

constexpr int kPoison = 0xff;  // NaN in every float type
constexpr std::int64_t kMostM = 8192, kAllRows = kMostM + 1000;

const DataTypeTraits& traits_of(tunedgemm_type type) {
  return traits(static_cast<DataType>(type));
}

std::unique_ptr<DeviceMemory> random_matrix(Device& device, tunedgemm_type type,
                                            std::int64_t elements, std::uint64_t seed) {
  const DataTypeTraits& row = traits_of(type);
  constexpr std::int64_t kPeriod = 1000003;  // prime, so that no two rows are equal
  const std::int64_t bytes = row.format.bits / 8;
  std::vector<std::byte> host(static_cast<std::size_t>(elements * bytes));
  for (std::int64_t at = 0; at < std::min(elements, kPeriod); ++at) {
    const double value = reference::random_value(row.format, reference::kUniform, seed, at);
    const int exponents = bytes > 1 ? 9 : 2;
    const auto bits = reference::scramble(seed ^ static_cast<std::uint64_t>(at));
    reference::store(row.format, host.data(), at,
                     std::ldexp(value, -static_cast<int>(bits % exponents)));
  }
  for (std::int64_t at = kPeriod; at < elements; at += kPeriod) {
    std::memcpy(host.data() + at * bytes, host.data(),
                static_cast<std::size_t>(std::min(kPeriod, elements - at) * bytes));
  }
  auto memory = device.allocate(elements * bytes);
  device.copy_to_device(memory->data(), host.data(), elements * bytes);
  return memory;
}

// A layer's weights, and many rows of which each call takes some that follow each other.
class LayerRun {
 public:
  LayerRun(Device& device, const Layer& layer, int invariant)
      : device_(device),
        layer_(layer),
        invariant_(invariant),
        a_(random_matrix(device, layer.in, kAllRows * layer.k, 1)),
        b_(random_matrix(device, layer.in, layer.n * layer.k, 2)),
        d_(device.allocate(kMostM * layer.n * row_bytes(layer.out, 1))) {}

  /// Multiplies rows [first, first + m), and compares at most 64 of them with earlier calls.
  void call(tunedgemm_context* context, std::int64_t m, std::int64_t first,
            std::mt19937_64& random) {
    const tunedgemm_problem problem = problem_of(m);
    tunedgemm_buffers buffers;
    tunedgemm_buffers_init(&buffers);
    buffers.a = static_cast<std::byte*>(a_->data()) + first * row_bytes(layer_.in, layer_.k);
    buffers.b = b_->data(), buffers.d = d_->data();
    const std::int64_t bytes = row_bytes(layer_.out, layer_.n);
    device_.set_bytes(d_->data(), kPoison, m * bytes);
    const tunedgemm_status status = tunedgemm_matmul(context, &problem, &buffers, nullptr);
    INFO(tunedgemm_error_message());
    REQUIRE(status == TUNEDGEMM_STATUS_OK);
    std::string row(static_cast<std::size_t>(bytes), '\0');
    device_.synchronize(nullptr);
    for (int index = 0; index < std::min<std::int64_t>(m, 64); ++index) {
      const auto at = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(m));
      device_.copy_to_host(row.data(), static_cast<std::byte*>(d_->data()) + at * bytes, bytes);
      REQUIRE_FALSE(has_nan(row));
      const auto [known, is_new] = bits_.try_emplace(first + at, sha256_hex(row, 32));
      compared += is_new ? 0 : 1;
      differ += is_new || known->second == sha256_hex(row, 32) ? 0 : 1;
    }
  }

  /// Serves M by the kernels of the M that the context has tuned.
  void serve(tunedgemm_context* context, std::int64_t m) const {
    const tunedgemm_problem problem = problem_of(m);
    tunedgemm_buffers buffers;
    tunedgemm_buffers_init(&buffers);
    tunedgemm_plan_options served;
    tunedgemm_plan_options_init(&served);
    served.policy = TUNEDGEMM_POLICY_STORED;
    const tunedgemm_plan* plan = nullptr;
    REQUIRE(tunedgemm_plan_create(context, &problem, &buffers, &served, &plan) ==
            TUNEDGEMM_STATUS_OK);
  }

  std::int64_t compared = 0, differ = 0;

 private:
  tunedgemm_problem problem_of(std::int64_t m) const {
    tunedgemm_problem problem;
    tunedgemm_problem_init(&problem, m, layer_.n, layer_.k, layer_.in, layer_.in, layer_.out);
    problem.numerics = layer_.numerics;
    problem.order_b = TUNEDGEMM_ORDER_COLUMN_MAJOR;
    problem.invariant = invariant_;
    return problem;
  }
  bool has_nan(const std::string& row) const {
    for (std::int64_t column = 0; column < layer_.n; ++column) {
      if (std::isnan(reference::load(traits_of(layer_.out).format, row.data(), column))) {
        return true;
      }
    }
    return false;
  }
  static std::int64_t row_bytes(tunedgemm_type type, std::int64_t length) {
    return length * traits_of(type).format.bits / 8;
  }

  Device& device_;
  Layer layer_;
  int invariant_;
  std::unique_ptr<DeviceMemory> a_, b_, d_;
  std::map<std::int64_t, std::string> bits_;  // by row
};

// Two caches tune a layer at different M, then serve 200 M each.
std::pair<std::int64_t, std::int64_t> compare_rows(Device& device, const Layer& layer,
                                                   int invariant) {
  std::mt19937_64 random(test_seed());
  LayerRun run(device, layer, invariant);
  for (const auto& tuned : {std::vector<std::int64_t>{1, 16, 128, 2048}, {5, 40, 600, 8192}}) {
    tunedgemm_context_options options = c_options(TUNEDGEMM_POLICY_TUNE);
    options.tune_candidates = 4;
    tunedgemm_context* context = nullptr;
    REQUIRE(tunedgemm_context_create(&options, &context) == TUNEDGEMM_STATUS_OK);
    for (const std::int64_t m : tuned) {
      run.call(context, m, 0, random);
    }
    for (int index = 0; index < 200; ++index) {
      const double exponent = 13.0 * static_cast<double>(random() % 1000) / 999;
      const auto m = static_cast<std::int64_t>(std::lround(std::exp2(exponent)));
      const auto first = 16 * static_cast<std::int64_t>(random() % 60);
      run.serve(context, m);
      run.call(context, m, first, random);
    }
    tunedgemm_context_destroy(context);
  }
  return {run.compared, run.differ};
}

}  // namespace

TEST_CASE("Rows of an invariant layer have the same bits for every M, wherever they are",
          "[gpu][slow]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const Device::Current current(*device);
  std::int64_t all = 0, all_differ = 0;
  for (const Layer& layer : kLayers) {
    const auto [compared, differ] = compare_rows(*device, layer, 1);
    const auto [compared_freely, differ_freely] = compare_rows(*device, layer, 0);
    std::cout << traits_of(layer.in).name << ' ' << layer.n << " x " << layer.k << " numerics "
              << layer.numerics << ": invariant " << differ << " of " << compared
              << " rows differ, free " << differ_freely << " of " << compared_freely << std::endl;
    all += compared, all_differ += differ;
  }
  std::cout << all_differ << " of " << all << " rows differ\n";
  CHECK(all >= 100'000);
  CHECK(all_differ == 0);
}

namespace {

// Each CTA takes all shared memory of its SM, and so the SM, for some time.
constexpr const char* kHolder = R"ptx(
.version 7.8
.target sm_80
.address_size 64
.visible .entry hold(.param .u64 nanoseconds) {
  .reg .pred %p; .reg .u64 %start, %now, %for;
  ld.param.u64 %for, [nanoseconds];
  mov.u64 %start, %globaltimer;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %start;
  setp.lt.u64 %p, %now, %for;
  @%p bra again;
  ret;
}
)ptx";

class Holder {
 public:
  explicit Holder(const DeviceLimits& limits)
      : shared_bytes_(static_cast<unsigned>(limits.shared_bytes_per_block)) {
    const auto& driver = test_driver();
    TUNEDGEMM_CHECK(driver, cuModuleLoadData(&module_, kHolder), "a module");
    TUNEDGEMM_CHECK(driver, cuModuleGetFunction(&function_, module_, "hold"), "a function");
    constexpr auto kMostSharedBytes = static_cast<cuda::CUfunction_attribute>(8);
    TUNEDGEMM_CHECK(
        driver, cuFuncSetAttribute(function_, kMostSharedBytes, static_cast<int>(shared_bytes_)),
        "a function");
  }
  void hold(unsigned sms, double milliseconds, cuda::CUstream stream) const {
    unsigned long long nanoseconds = static_cast<unsigned long long>(milliseconds * 1e6);
    void* parameters[] = {&nanoseconds};
    cuda::CUlaunchConfig config{};
    config.gridDimX = sms, config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 1024, config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = shared_bytes_;
    config.hStream = stream;
    TUNEDGEMM_CHECK(test_driver(), cuLaunchKernelEx(&config, function_, parameters, nullptr),
                    "the holder");
  }

 private:
  unsigned shared_bytes_;
  cuda::CUmodule module_ = nullptr;
  cuda::CUfunction function_ = nullptr;
};

class TimingEvent {
 public:
  TimingEvent() { TUNEDGEMM_CHECK(test_driver(), cuEventCreate(&handle_, 0), "an event"); }
  ~TimingEvent() { test_driver().cuEventDestroy(handle_); }
  TimingEvent(const TimingEvent&) = delete;
  TimingEvent& operator=(const TimingEvent&) = delete;
  void record(cuda::CUstream stream) const { test_driver().cuEventRecord(handle_, stream); }
  double us_since(const TimingEvent& start) const {
    float ms = 0;
    test_driver().cuEventElapsedTime(&ms, start.handle_, handle_);
    return 1000.0 * static_cast<double>(ms);
  }

 private:
  cuda::CUevent handle_ = nullptr;
};

}  // namespace

TEST_CASE("A product on 112 SMs is not slowed down by a kernel that holds 20 others",
          "[gpu][slow]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const Device::Current current(*device);
  const int sms = device->limits().sm_count;
  if (sms < 100) {
    TUNEDGEMM_SKIP("needs a GPU with 100 SMs");
  }
  const int held = 20, limit = sms - held;
  const Holder holder(device->limits());
  const OwnStream products, others;
  for (const auto& [m, n, k] :
       {std::array<std::int64_t, 3>{4096, 4096, 4096}, {8192, 4096, 4096}}) {
    const auto a = random_matrix(*device, TUNEDGEMM_TYPE_BF16, m * k, 1);
    const auto b = random_matrix(*device, TUNEDGEMM_TYPE_BF16, n * k, 2);
    const auto d = device->allocate(m * n * 2);
    tunedgemm_context_options options = c_options(TUNEDGEMM_POLICY_TUNE);
    options.tune_candidates = 12;
    tunedgemm_context* context = nullptr;
    REQUIRE(tunedgemm_context_create(&options, &context) == TUNEDGEMM_STATUS_OK);
    const tunedgemm_plan* plans[2] = {};
    tunedgemm_buffers buffers;
    tunedgemm_buffers_init(&buffers);
    buffers.a = a->data(), buffers.b = b->data(), buffers.d = d->data();
    for (const int is_limited : {0, 1}) {
      tunedgemm_problem problem;
      tunedgemm_problem_init(&problem, m, n, k, TUNEDGEMM_TYPE_BF16, TUNEDGEMM_TYPE_BF16,
                             TUNEDGEMM_TYPE_BF16);
      problem.order_b = TUNEDGEMM_ORDER_COLUMN_MAJOR;
      problem.sm_limit = is_limited * limit;
      REQUIRE(tunedgemm_plan_create(context, &problem, &buffers, nullptr, &plans[is_limited]) ==
              TUNEDGEMM_STATUS_OK);
      std::cout << tunedgemm_plan_description(plans[is_limited]) << std::endl;
    }
    const auto us_of = [&](const tunedgemm_plan* plan, bool is_beside) {
      std::vector<double> times;
      for (int round = 0; round < 9; ++round) {
        const TimingEvent start, stop;
        if (is_beside) {
          holder.hold(static_cast<unsigned>(held), 20, others.handle());
        }
        for (int wait = 0; wait < 3; ++wait) {  // until the holder runs, and the clock is up
          REQUIRE(tunedgemm_run(plan, &buffers, products.handle()) == TUNEDGEMM_STATUS_OK);
        }
        start.record(products.handle());
        for (int launch = 0; launch < 5; ++launch) {
          REQUIRE(tunedgemm_run(plan, &buffers, products.handle()) == TUNEDGEMM_STATUS_OK);
        }
        stop.record(products.handle());
        device->synchronize(products.handle());
        device->synchronize(others.handle());
        times.push_back(stop.us_since(start) / 5);
      }
      std::nth_element(times.begin(), times.begin() + 4, times.end());
      return times[4];
    };
    const double full = us_of(plans[0], false), limited = us_of(plans[1], false);
    const double full_beside = us_of(plans[0], true), limited_beside = us_of(plans[1], true);
    std::cout << m << " x " << n << " x " << k << " us: alone " << full << " on all, " << limited
              << " on " << limit << " SMs; beside a holder of " << held << ": " << full_beside
              << " and " << limited_beside << std::endl;
    CHECK(limited < 1.03 * full * sms / limit);
    CHECK(full_beside > 1.2 * limited_beside);
    tunedgemm_context_destroy(context);
  }
}

}  // namespace tunedgemm::internal
