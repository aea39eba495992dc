#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cache/store.h"
#include "kernel_templates/family.h"
#include "runtime/backend.h"
#include "runtime/cuda/gpcs.h"
#include "runtime/evaluation/device_evaluator.h"
#include "runtime/evaluation/verifier.h"
#include "tests/runtime/support/captured_graph.h"
#include "tests/support/catch.h"
#include "tests/support/device_fixture.h"
#include "tests/support/instances.h"
#include "tests/support/memory_store.h"
#include "tuner/statistics.h"

namespace tunedgemm::internal {
namespace {

// A small multiplication on the device.
struct Multiplication {
  Multiplication(Device& device, std::int64_t extent)
      : problem(canonical(
            make_problem(extent, extent, extent, DataType::kF32, DataType::kF32, DataType::kF32))),
        instance(find_family("naive_2d")->candidates(problem, device.limits())[0]),
        launch(instance.launch),
        matrix(device.allocate(extent * extent * 4)),
        d(device.allocate(extent * extent * 4)) {
    device.set_bytes(matrix->data(), 0, matrix->size_bytes());
    binary = std::get<Binary>(device.compile(instance.source()));
    kernel = std::get<0>(device.load(binary, launch));
    arguments = arguments_of(problem);
    arguments.a = arguments.b = matrix->data();
    arguments.d = d->data();
  }

  Problem problem;
  Instance instance;
  Launch launch;
  std::unique_ptr<DeviceMemory> matrix, d;
  Binary binary;
  std::unique_ptr<CompiledKernel> kernel;
  Arguments arguments{};
};

}  // namespace

TEST_CASE("SMs seen in one cluster belong to one GPC") {
  using Clusters = std::vector<std::vector<int>>;
  using Gpcs = std::vector<int>;
  CHECK(cuda::gpcs_from_clusters(Clusters{{0, 1}, {2, 3}, {1, 4}, {5}}) == Gpcs{0, 0, 1, 1, 0, 1});
  CHECK(cuda::gpcs_from_clusters(Clusters{{3, 2}, {0, 3}, {1, 4}, {4, 1}}) == Gpcs{0, 1, 0, 0, 1});
  CHECK(cuda::gpcs_from_clusters(Clusters{{0}, {1}}).empty());
  CHECK(cuda::gpcs_from_clusters(Clusters{}).empty());
  CHECK(cuda::gpcs_from_clusters(Clusters{{0, cuda::kMostSms}}).empty());
  Clusters pairs;
  for (int gpc = 0; gpc <= cuda::kMostGpcs; ++gpc) {
    pairs.push_back({2 * gpc, 2 * gpc + 1});
  }
  CHECK(cuda::gpcs_from_clusters(pairs).empty());
}

TEST_CASE("The GPCs of SMs are parsed from their text, and other texts are refused") {
  using Gpcs = std::vector<int>;
  DeviceLimits limits;
  limits.sm_count = 3;
  const Gpcs gpcs{0, 1, 1, 0};
  CHECK(cuda::to_text(gpcs) == "0,1,1,0");
  CHECK(cuda::parse_gpcs("0,1,1,0", limits) == gpcs);
  for (const char* wrong : {"", "0,1", "0,1,x", "0,,1", "0,1,1,", "0,1,-1", "0,1, 1", "0 1 1",
                            "0,1,99", "0,1,99999999999999999999", "seen"}) {
    INFO(wrong);
    CHECK(cuda::parse_gpcs(wrong, limits).empty());
  }
  const Gpcs too_many(cuda::kMostSms + 1);
  CHECK(cuda::parse_gpcs(cuda::to_text(too_many), limits).empty());
}

TEST_CASE("A device with clusters knows the GPCs of its SMs after a probe", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const std::vector<int>& gpcs = device->limits().gpc_of_sm;
  if (device->limits().arch < 90) {
    CHECK(gpcs.empty());
    return;
  }
  REQUIRE(static_cast<int>(gpcs.size()) >= device->limits().sm_count);
  std::vector<int> sizes(cuda::kMostGpcs);
  for (const int gpc : gpcs) {
    REQUIRE(gpc >= 0);
    REQUIRE(gpc < cuda::kMostGpcs);
    ++sizes[static_cast<std::size_t>(gpc)];
  }
  constexpr int kMostOfGpc = 18;
  CHECK(*std::max_element(sizes.begin(), sizes.end()) <= kMostOfGpc);
  CHECK(device->probe()->key().empty());
  const auto probing = cuda_backend().open({}), other = cuda_backend().open({});
  CHECK(probing->limits().gpc_of_sm.empty());
  CHECK_FALSE(probing->probe()->key().empty());
  CHECK(probing->probe()->key() == other->probe()->key());
  const DeviceLimits& before = probing->limits();
  other->probe()->use("0,1,2");  // another GPU's
  CHECK(other->limits().gpc_of_sm.empty());
  other->probe()->use(probing->probe()->run());
  CHECK(before.gpc_of_sm.empty());
  CHECK(probing->limits().gpc_of_sm == gpcs);
  CHECK(other->limits().gpc_of_sm == gpcs);
}

TEST_CASE("without a CUDA device there is an error message") {
  std::string why_not;
  if (cuda_backend().device_count(&why_not) == 0) {
    CHECK_FALSE(why_not.empty());
    CHECK_THROWS_AS(cuda_backend().open({}), DeviceError);
  } else {
    CHECK_THROWS_WITH(cuda_backend().open({.ordinal = 999}),
                      Catch::Matchers::ContainsSubstring("there is no CUDA device 999"));
  }
}

TEST_CASE("a damaged binary is a rejection", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const Multiplication small(*device, 16);
  Binary damaged = small.binary;
  damaged.code[0] = std::byte{0};
  const auto loaded = device->load(damaged, small.launch);
  REQUIRE(std::holds_alternative<Rejection>(loaded));
  CHECK(std::get<Rejection>(loaded).reason == Reason::kLoadFailed);
  Binary renamed = small.binary;
  renamed.entry = "another";
  CHECK(std::holds_alternative<Rejection>(device->load(renamed, small.launch)));
}

TEST_CASE("an impossible launch gives an error number with a message", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const Multiplication small(*device, 16);
  Launch impossible = small.launch;
  impossible.block = {4096, 1, 1};
  const int error = small.kernel->run(impossible, small.arguments, device->own_stream());
  REQUIRE(error != 0);
  CHECK(device->describe(error).find("CUDA_ERROR_INVALID_VALUE") != std::string::npos);
}

TEST_CASE("timing measures launches on the device, and a second sample costs little more",
          "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const Multiplication product(*device, 512);
  TimedLaunch timed;
  timed.kernel = product.kernel.get();
  timed.launch = product.launch;
  timed.rotation = {product.arguments, product.arguments};
  const double first = std::get<double>(device->time(timed, 100));
  const auto start = std::chrono::steady_clock::now();
  const double second = std::get<double>(device->time(timed, 100));
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  CHECK(first > 0);
  CHECK(second > 0);
  CHECK(second < wall.count());
  std::cout << "100 launches: " << second * 1e6 << " us on the device, " << wall.count() * 1e6
            << " us on the host" << std::endl;
  CHECK(wall.count() < 1.5 * second + 500e-6);
}

TEST_CASE("The first sample of a new timing graph is no longer than its second", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const Multiplication product(*device, 16);
  std::vector<double> ratios;
  for (int launches = 50; launches < 71; ++launches) {
    TimedLaunch timed;
    timed.kernel = product.kernel.get();
    timed.launch = product.launch;
    timed.rotation = {product.arguments};
    const double first = std::get<double>(device->time(timed, launches));
    ratios.push_back(first / std::get<double>(device->time(timed, launches)));
  }
  std::cout << "first to second sample: " << median(ratios) << std::endl;
  CHECK(median(ratios) < 1.1);
}

TEST_CASE("a captured stream is recognised, and memory can be allocated meanwhile", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const Device::Current current(*device);
  const OwnStream stream;
  CHECK(device->stream_id(stream.handle()).has_value());
  CHECK(device->stream_id(nullptr).has_value());
  CHECK(device->stream_id(nullptr) != device->stream_id(stream.handle()));
  stream.begin_capture();
  CHECK_FALSE(device->stream_id(stream.handle()).has_value());
  CHECK(device->allocate(1 << 20) != nullptr);
  test_driver().cuGraphDestroy(stream.end_capture());
  CHECK(device->stream_id(stream.handle()).has_value());
}

TEST_CASE("the clock of a GPU's SMs is counted by the SMs", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const Device::Current current(*device);
  const std::unique_ptr<Store> store = memory_store();
  const std::unique_ptr<Verifier> verifier = make_cuda_verifier(*device, *store);
  CHECK(verifier->mhz_since_last_call() == 0);
  const double highest_mhz = device->identity().clock_mhz;
  REQUIRE(highest_mhz > 0);
  for (int call = 0; call < 10; ++call) {
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(2)) {
    }
    const double mhz = verifier->mhz_since_last_call();
    CHECK(mhz > 100);
    CHECK(mhz < 1.5 * highest_mhz);  // some cards exceed their nominal clock
  }
}

TEST_CASE("matrices beyond 2^31 elements are multiplied correctly", "[gpu][slow]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const std::unique_ptr<Store> store = memory_store();
  for (const char* const text :
       {"types=f32 m=66000 n=40 k=33000", "types=f32 m=40 n=33000 k=66000",
        "types=f32 m=66000 n=33000 k=24",
        "types=bf16 layout=nt m=66000 n=4104 k=33000 batch=32 group_kind=rows",
        "types=bf16 layout=tn m=33000 n=4104 k=66000 batch=32 group_kind=k"}) {
    const CanonicalProblem problem = problem_of(text);
    DeviceEvaluator evaluator(*device, *store, problem);
    for (const Family* family : families("cuda")) {
      const std::vector<Instance> legal = family->candidates(problem, device->limits());
      if (legal.empty()) {
        continue;
      }
      const Instance& candidate = legal.front();
      INFO(to_text(candidate.candidate) << "\n" << to_text(problem));
      Prepared prepared = evaluator.prepare(candidate);
      REQUIRE(std::holds_alternative<std::unique_ptr<Trial>>(prepared));
      const auto error = std::get<std::unique_ptr<Trial>>(prepared)->check();
      const auto* rejection = std::get_if<Rejection>(&error);
      INFO((rejection != nullptr ? rejection->detail : ""));
      CHECK(rejection == nullptr);
    }
  }
}

}  // namespace tunedgemm::internal
