#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cache/store.h"
#include "kernel_templates/cuda/wgmma/kernel_parameters.cuh"
#include "kernel_templates/family.h"
#include "runtime/backend.h"
#include "runtime/calls/plan.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/gpcs.h"
#include "runtime/evaluation/device_evaluator.h"
#include "runtime/evaluation/verifier.h"
#include "tests/support/catch.h"
#include "tests/support/device_fixture.h"
#include "tests/support/instances.h"
#include "tests/support/memory_store.h"

namespace tunedgemm::internal {
namespace {

// A small multiplication of ones on the device: every element of D is k.
struct Ones {
  Ones(Device& device, std::int64_t extent)
      : problem(canonical(make_problem(extent, extent, extent, DataType::kF32, DataType::kF32,
                                       DataType::kF32))
                    .problem),
        instance(find_family("naive_2d")->candidates(problem, device.limits())[0]),
        launch(instance.launch),
        matrix(device.allocate(extent * extent * 4)),
        d(device.allocate(extent * extent * 4)) {
    const std::vector<float> ones(static_cast<std::size_t>(extent * extent), 1.0F);
    device.copy_to_device(matrix->data(), ones.data(), matrix->size_bytes());
    device.set_bytes(d->data(), 0xff, d->size_bytes());
    binary = std::get<Binary>(device.compile(instance.source()));
    kernel = std::get<0>(device.load(binary, launch));
    arguments = arguments_of(problem);
    arguments.a = arguments.b = matrix->data();
    arguments.d = d->data();
  }

  bool result_is_right(Device& device) const {
    std::vector<float> result(static_cast<std::size_t>(d->size_bytes()) / 4);
    device.copy_to_host(result.data(), d->data(), d->size_bytes());
    for (const float value : result) {
      if (!(value == static_cast<float>(problem.k))) {
        return false;
      }
    }
    return true;
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

TEST_CASE("SMs that were seen in one cluster are of one GPC") {
  using Clusters = std::vector<std::vector<int>>;
  using Gpcs = std::vector<int>;
  CHECK(cuda::gpcs_from_clusters(Clusters{{0, 1}, {2, 3}, {1, 4}, {5}}) == Gpcs{0, 0, 1, 1, 0, 1});
  CHECK(cuda::gpcs_from_clusters(Clusters{{3, 2}, {0, 3}, {1, 4}, {4, 1}}) == Gpcs{0, 1, 0, 0, 1});
  CHECK(cuda::gpcs_from_clusters(Clusters{{0}, {1}}).empty());
  CHECK(cuda::gpcs_from_clusters(Clusters{}).empty());
  CHECK(cuda::gpcs_from_clusters(Clusters{{0, kMostSms}}).empty());
  Clusters pairs;
  for (int gpc = 0; gpc <= kMostGpcs; ++gpc) {
    pairs.push_back({2 * gpc, 2 * gpc + 1});
  }
  CHECK(cuda::gpcs_from_clusters(pairs).empty());
}

TEST_CASE("The GPCs of SMs are read from their text, and nothing else is") {
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
  const Gpcs too_many(kMostSms + 1);
  CHECK(cuda::parse_gpcs(cuda::to_text(too_many), limits).empty());
}

TEST_CASE("A device with clusters knows the GPCs of its SMs when it was probed", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const std::vector<int>& gpcs = device->limits().gpc_of_sm;
  if (device->limits().arch < 90) {
    CHECK(gpcs.empty());
    return;
  }
  REQUIRE(static_cast<int>(gpcs.size()) >= device->limits().sm_count);
  std::vector<int> sizes(kMostGpcs);
  for (const int gpc : gpcs) {
    REQUIRE(gpc >= 0);
    REQUIRE(gpc < kMostGpcs);
    ++sizes[static_cast<std::size_t>(gpc)];
  }
  constexpr int kMostOfGpc = 18;
  CHECK(*std::max_element(sizes.begin(), sizes.end()) <= kMostOfGpc);
  CHECK(device->probe_key().empty());
  const auto again = cuda_backend().open(0, 0), told = cuda_backend().open(0, 0);
  CHECK(again->limits().gpc_of_sm.empty());
  CHECK_FALSE(again->probe_key().empty());
  CHECK(again->probe_key() == told->probe_key());
  const DeviceLimits& before = again->limits();
  told->use_probe("0,1,2");  // of another GPU
  CHECK(told->limits().gpc_of_sm.empty());
  told->use_probe(again->probe());
  CHECK(before.gpc_of_sm.empty());
  CHECK(again->limits().gpc_of_sm == gpcs);
  CHECK(told->limits().gpc_of_sm == gpcs);
}

TEST_CASE("without a CUDA device there is a sentence instead") {
  std::string why_not;
  if (cuda_backend().device_count(&why_not) == 0) {
    CHECK_FALSE(why_not.empty());
    CHECK_THROWS_AS(cuda_backend().open(0, 0), DeviceError);
  } else {
    CHECK_THROWS_WITH(cuda_backend().open(999, 0),
                      Catch::Matchers::ContainsSubstring("there is no CUDA device 999"));
  }
}

TEST_CASE("a GPU tells who it is and what it can", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const DeviceIdentity& identity = device->identity();
  const DeviceLimits& limits = device->limits();
  CHECK(identity.backend == "cuda");
  CHECK_FALSE(identity.name.empty());
  CHECK(identity.units == limits.sm_count);
  CHECK(identity.memory_bytes == in_whole_gib(limits.memory_bytes));
  CHECK(limits.sm_count > 0);
  CHECK(limits.arch >= 50);
  CHECK(limits.shared_bytes_per_block >= 48 << 10);
  CHECK(limits.l2_bytes > 0);
  CHECK(limits.clock_ghz > 0.5);
  CHECK(limits.memory_gb_per_s > 100);
  CHECK(device->free_memory_bytes() <= limits.memory_bytes);
  std::cout << identity.name << ": sm_" << limits.arch << ", " << limits.sm_count << " SMs, "
            << identity.clock_mhz << " MHz, " << identity.power_limit_watts << " W, "
            << limits.memory_gb_per_s << " GB/s, L2 " << limits.l2_bytes << " bytes, "
            << device->toolchain().compiler << ", driver " << device->toolchain().driver
            << ", clock now " << device->clock().mhz << " MHz" << std::endl;
}

TEST_CASE("what is copied to a GPU comes back", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  std::vector<int> sent(100'000);
  for (std::size_t index = 0; index < sent.size(); ++index) {
    sent[index] = static_cast<int>(index * index);
  }
  const auto bytes = static_cast<std::int64_t>(sent.size() * sizeof(int));
  const auto memory = device->allocate(bytes);
  CHECK(reinterpret_cast<std::uintptr_t>(memory->data()) % 256 == 0);
  device->copy_to_device(memory->data(), sent.data(), bytes);
  std::vector<int> received(sent.size());
  device->copy_to_host(received.data(), memory->data(), bytes);
  CHECK(received == sent);
  device->set_bytes(memory->data(), 0x11, bytes);
  device->copy_to_host(received.data(), memory->data(), bytes);
  CHECK(received.back() == 0x11111111);
}

TEST_CASE("memory that a GPU does not have is refused by name", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  try {
    device->allocate(device->limits().memory_bytes * 4);
    FAIL("was allocated");
  } catch (const DeviceError& error) {
    CHECK(error.kind() == DeviceError::Kind::kOutOfMemory);
    CHECK(std::string(error.what()).find("cuMemAlloc") != std::string::npos);
  }
}

TEST_CASE("a compiled kernel runs on a GPU", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const Ones ones(*device, 100);
  REQUIRE(ones.kernel->run(ones.launch, ones.arguments, device->own_stream()) == 0);
  CHECK(ones.result_is_right(*device));
}

TEST_CASE("a thread that has no context runs a kernel all the same", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const Ones ones(*device, 64);
  int result = -1;
  std::thread([&] {
    result = ones.kernel->run(ones.launch, ones.arguments, device->own_stream());
  }).join();
  CHECK(result == 0);
  CHECK(ones.result_is_right(*device));
}

TEST_CASE("a damaged binary is a rejection", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  Ones ones(*device, 16);
  Binary damaged = ones.binary;
  damaged.code[0] = std::byte{0};
  const auto loaded = device->load(damaged, ones.launch);
  REQUIRE(std::holds_alternative<Rejection>(loaded));
  CHECK(std::get<Rejection>(loaded).reason == Reason::kLoadFailed);
  Binary renamed = ones.binary;
  renamed.entry = "another";
  CHECK(std::holds_alternative<Rejection>(device->load(renamed, ones.launch)));
}

TEST_CASE("a launch that the GPU cannot make is an error number with a sentence", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const Ones ones(*device, 16);
  Launch impossible = ones.launch;
  impossible.block = {4096, 1, 1};
  const int error = ones.kernel->run(impossible, ones.arguments, device->own_stream());
  REQUIRE(error != 0);
  CHECK(device->describe(error).find("CUDA_ERROR_INVALID_VALUE") != std::string::npos);
}

TEST_CASE("timing counts launches on the device, and a second sample costs little more", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const Ones ones(*device, 512);
  TimedLaunch timed;
  timed.kernel = ones.kernel.get();
  timed.launch = ones.launch;
  timed.rotation = {ones.arguments, ones.arguments};
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

TEST_CASE("a stream that is captured is known, and memory can be had meanwhile", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const auto opened = cuda::Driver::open();
  const cuda::Driver& driver = *std::get<0>(opened);
  const Device::Current current(*device);
  cuda::CUstream stream = nullptr;
  TUNEDGEMM_CHECK(driver, cuStreamCreate(&stream, cuda::CU_STREAM_NON_BLOCKING), "a stream");
  CHECK(device->stream_id(stream).has_value());
  CHECK(device->stream_id(nullptr).has_value());
  CHECK(device->stream_id(nullptr) != device->stream_id(stream));
  constexpr auto kGlobal = static_cast<cuda::CUstreamCaptureMode>(0);
  TUNEDGEMM_CHECK(driver, cuStreamBeginCapture(stream, kGlobal), "a stream");
  CHECK_FALSE(device->stream_id(stream).has_value());
  CHECK(device->allocate(1 << 20) != nullptr);
  cuda::CUgraph graph = nullptr;
  TUNEDGEMM_CHECK(driver, cuStreamEndCapture(stream, &graph), "a stream");
  CHECK(device->stream_id(stream).has_value());
  driver.cuGraphDestroy(graph);
  driver.cuStreamDestroy(stream);
}

TEST_CASE("the clock of a GPU's SMs is what they count", "[gpu]") {
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
    CHECK(mhz < 1.5 * highest_mhz);  // some cards run faster than they promise
  }
}

TEST_CASE("a host has no SMs that count") {
  const std::unique_ptr<Verifier> verifier = make_host_verifier(1);
  CHECK(verifier->mhz_since_last_call() == 0);
  CHECK(verifier->mhz_since_last_call() == 0);
}

TEST_CASE("DeviceEvaluator checks and times candidates on a GPU", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const std::unique_ptr<Store> store = memory_store();
  const Problem problem =
      canonical(make_problem(1000, 999, 1001, DataType::kF32, DataType::kF32, DataType::kF32))
          .problem;
  DeviceEvaluator evaluator(*device, *store, problem);
  std::vector<Instance> candidates;
  for (const char* name : {"naive_1d", "naive_2d", "tiled_shared", "simt"}) {
    candidates.push_back(find_family(name)->candidates(problem, device->limits()).front());
  }
  evaluator.compile_ahead(candidates);
  for (const Instance& candidate : candidates) {
    INFO(to_text(candidate.candidate));
    Prepared prepared = evaluator.prepare(candidate);
    REQUIRE(std::holds_alternative<std::unique_ptr<Trial>>(prepared));
    Trial& trial = *std::get<std::unique_ptr<Trial>>(prepared);
    const auto error = trial.check();
    if (const auto* rejection = std::get_if<Rejection>(&error)) {
      FAIL_CHECK(rejection->detail);
      continue;
    }
    CHECK(std::get<double>(error) <= 1);
    evaluator.warm_up();
    const double us = std::get<double>(trial.sample(20));
    std::cout << to_text(candidate.candidate) << ": error " << std::get<double>(error)
              << " of the bound, " << us << " us, roofline " << evaluator.roofline_us()
              << std::endl;
    CHECK(us > evaluator.roofline_us());
  }
}

TEST_CASE("matrices beyond 2^31 elements are multiplied right", "[gpu][slow]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const std::unique_ptr<Store> store = memory_store();
  for (const auto& [m, n, k] :
       {std::array{66000, 40, 33000}, std::array{40, 33000, 66000}, std::array{66000, 33000, 24}}) {
    const Problem problem =
        canonical(make_problem(m, n, k, DataType::kF32, DataType::kF32, DataType::kF32)).problem;
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
