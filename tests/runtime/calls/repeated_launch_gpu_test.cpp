// Repeated launches of one kernel. Kernels that may start early must still wait for each other, in
// a stream and in a graph. The same launch must always give the same bits.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <variant>
#include <vector>

#include "kernel_templates/cuda/families.h"
#include "runtime/context/plan.h"
#include "tests/runtime/support/captured_graph.h"
#include "tests/support/catch.h"
#include "tests/support/device_fixture.h"
#include "tests/support/instances.h"
#include "tests/support/seed.h"
#include "tests/support/wgmma_config.h"

namespace tunedgemm::internal {
namespace {

// A candidate, ready to run.
struct Loaded {
  Loaded(Device& device, const Problem& problem, const Family& family, const Config& config)
      : launch(instance_of(family, problem, config, device.limits()).launch) {
    const Source source = instance_of(family, problem, config, device.limits()).source();
    kernel = std::get<0>(device.load(std::get<Binary>(device.compile(source)), launch));
    if (launch.workspace_bytes > 0) {
      workspace = device.allocate(launch.workspace_bytes);
      device.set_bytes(workspace->data(), 0, launch.workspace_bytes);
    }
  }

  Launch launch;
  std::unique_ptr<CompiledKernel> kernel;
  std::unique_ptr<DeviceMemory> workspace;
};

CanonicalProblem f16_problem(std::int64_t m, std::int64_t n, std::int64_t k) {
  return canonical(make_problem(m, n, k, DataType::kF16, DataType::kF16, DataType::kF16));
}

// The bits of an integer from 0 to 2048 as f16.
std::uint16_t f16_bits(int whole) {
  if (whole == 0) {
    return 0;
  }
  const int exponent = 31 - __builtin_clz(static_cast<unsigned>(whole));
  return static_cast<std::uint16_t>((exponent + 15) << 10 | (whole << (10 - exponent) & 0x3ff));
}

constexpr int kSize = 256, kSteps = 50;

std::size_t place(int row, int column) {
  return static_cast<std::size_t>(row) * kSize + static_cast<std::size_t>(column);
}

// X[step + 1] = X[step] * B, where B shifts every column one to the right.
struct Chain {
  explicit Chain(Device& gpu)
      : device(gpu),
        matrix_bytes(kSize * kSize * 2),
        moved(device.allocate(matrix_bytes)),
        x(device.allocate((kSteps + 1) * matrix_bytes)) {
    std::vector<std::uint16_t> b(kSize * kSize);
    first.resize(kSize * kSize);
    for (int row = 0; row < kSize; ++row) {
      b[place(row, (row + 1) % kSize)] = f16_bits(1);
      for (int column = 0; column < kSize; ++column) {
        first[place(row, column)] = f16_bits((7 * row + 3 * column) % 2048);
      }
    }
    device.copy_to_device(moved->data(), b.data(), matrix_bytes);
  }

  char* at(int step) const { return static_cast<char*>(x->data()) + step * matrix_bytes; }

  void begin() const {
    device.set_bytes(x->data(), 0xff, x->size_bytes());  // NaN
    device.copy_to_device(x->data(), first.data(), matrix_bytes);
  }

  std::vector<Arguments> steps(const Problem& problem, void* workspace) const {
    std::vector<Arguments> all;
    for (int step = 0; step < kSteps; ++step) {
      Arguments arguments = arguments_of(problem);
      arguments.a = at(step);
      arguments.b = moved->data();
      arguments.d = at(step + 1);
      arguments.workspace = workspace;
      all.push_back(arguments);
    }
    return all;
  }

  int wrong_elements() const {
    std::vector<std::uint16_t> last(kSize * kSize);
    device.copy_to_host(last.data(), at(kSteps), matrix_bytes);
    int wrong = 0;
    for (int row = 0; row < kSize; ++row) {
      for (int column = 0; column < kSize; ++column) {
        const int from = (column - kSteps + kSize) % kSize;
        wrong += last[place(row, column)] != first[place(row, from)];
      }
    }
    return wrong;
  }

  Device& device;
  std::int64_t matrix_bytes;
  std::unique_ptr<DeviceMemory> moved, x;
  std::vector<std::uint16_t> first;
};

// How many of a thousand launches wrote other bits than the first.
int different_launches(Device& device, const Loaded& loaded, const Arguments& arguments,
                       std::int64_t d_bytes) {
  std::vector<char> first(static_cast<std::size_t>(d_bytes)), again(first.size());
  int different = 0;
  for (int time = 0; time < 1000; ++time) {
    REQUIRE(loaded.kernel->run(loaded.launch, arguments, device.own_stream()) == 0);
    device.synchronize(device.own_stream());
    device.copy_to_host((time == 0 ? first : again).data(), arguments.d, d_bytes);
    different += time > 0 && std::memcmp(first.data(), again.data(), first.size()) != 0;
  }
  return different;
}

}  // namespace

TEST_CASE("Kernels that start early see what the kernels before them wrote", "[gpu][wgmma]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  if (device->limits().arch != 90) {
    TUNEDGEMM_SKIP("wgmma needs a GPU of compute capability 9.0");
  }
  const Device::Current current(*device);
  Problem problem = f16_problem(kSize, kSize, kSize);
  problem.launch_regime = LaunchRegime::kBackToBack;
  const std::vector<Config> configs = configs_of(wgmma_family(), problem, device->limits());
  const Chain chain(*device);
  const StreamHandle stream = device->own_stream();
  for (std::size_t index = 0; index < configs.size(); index += configs.size() / 8 + 1) {
    Config config = configs[index];
    for (const auto& [prefetch, gpc_aware] : {std::pair(0, 0), {8, 0}, {0, 1}, {8, 1}}) {
      config.set("split_k", 1).set("prefetch", prefetch).set("gpc_aware", gpc_aware);
      INFO(to_text(config));
      REQUIRE(refusal(wgmma_family(), problem, config, device->limits()) == "");
      const Loaded loaded(*device, problem, wgmma_family(), config);
      REQUIRE(loaded.launch.programmatic == ProgrammaticLaunch::kAlways);
      const std::vector<Arguments> steps =
          chain.steps(problem, loaded.workspace ? loaded.workspace->data() : nullptr);
      chain.begin();
      for (const Arguments& arguments : steps) {
        REQUIRE(loaded.kernel->run(loaded.launch, arguments, stream) == 0);
      }
      device->synchronize(stream);
      CHECK(chain.wrong_elements() == 0);

      for (const auto programmatic : {ProgrammaticLaunch::kAlways, ProgrammaticLaunch::kAfterOwn}) {
        for (const LaunchRegime launches : {LaunchRegime::kBackToBack, LaunchRegime::kIsolated}) {
          chain.begin();
          TimedLaunch graph;
          graph.kernel = loaded.kernel.get();
          graph.launch = loaded.launch;
          graph.launch.programmatic = programmatic;
          graph.rotation = steps;
          graph.launch_regime = launches;
          REQUIRE(std::holds_alternative<double>(device->time(graph, kSteps)));
          CHECK(chain.wrong_elements() == 0);
        }
      }
    }
  }
}

TEST_CASE("GPC-aware kernels and others run one after the other on one workspace", "[gpu][wgmma]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  if (device->limits().gpc_of_sm.empty()) {
    TUNEDGEMM_SKIP("the GPCs of this device are not known");
  }
  const Device::Current current(*device);
  const Problem problem = f16_problem(kSize, kSize, kSize);
  const std::vector<Config> configs = configs_of(wgmma_family(), problem, device->limits());
  const Chain chain(*device);
  // The real map from SMs to GPCs, and two wrong maps. With a wrong map, clusters claim ids from
  // exhausted ranges.
  std::vector<DeviceLimits> maps(3, device->limits());
  std::mt19937 random(test_seed());
  for (std::size_t sm = 0; sm < maps[0].gpc_of_sm.size(); ++sm) {
    maps[1].gpc_of_sm[sm] = sm == 0 ? 7 : 3;
    maps[2].gpc_of_sm[sm] = static_cast<int>(random() % 8);
  }
  for (std::size_t index = 0; index < configs.size(); index += configs.size() / 8 + 1) {
    Config config = configs[index];
    config.set("split_k", 1);
    INFO(to_text(config));
    const Loaded asking(*device, problem, wgmma_family(), config.set("gpc_aware", 1));
    const Loaded plain(*device, problem, wgmma_family(), config.set("gpc_aware", 0));
    REQUIRE(asking.launch.workspace_is_optional);
    const Launch by_number = without_workspace(asking.launch);
    std::vector<Launch> gpc_aware;
    gpc_aware.reserve(maps.size());
    for (const DeviceLimits& limits : maps) {
      gpc_aware.push_back(
          instance_of(wgmma_family(), problem, config.set("gpc_aware", 1), limits).launch);
    }
    chain.begin();
    const std::vector<Arguments> steps = chain.steps(problem, asking.workspace->data());
    for (std::size_t step = 0; step < steps.size(); ++step) {
      const bool asks = step % 4 < 2;
      const Launch& launch = asks ? gpc_aware[step % 3] : step % 4 == 2 ? by_number : plain.launch;
      const Loaded& loaded = step % 4 == 3 ? plain : asking;
      REQUIRE(loaded.kernel->run(launch, steps[step], device->own_stream()) == 0);
    }
    device->synchronize(device->own_stream());
    CHECK(chain.wrong_elements() == 0);
  }
}

TEST_CASE("The same launch gives the same bits a thousand times", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const Device::Current current(*device);
  constexpr std::int64_t kDElements = 304 * 264;
  const std::vector<int> ends{1, 131, 131, 304};
  std::mt19937 random(20261121);
  std::vector<std::uint16_t> operands(304 * 1000 + 1000 * 264 * ends.size());
  for (std::uint16_t& element : operands) {  // in [0.5, 1), with either sign
    element = static_cast<std::uint16_t>((random() & 0x83ff) | 0x3800);
  }
  const auto inputs = device->allocate(static_cast<std::int64_t>(operands.size()) * 2);
  device->copy_to_device(inputs->data(), operands.data(), inputs->size_bytes());
  const auto groups = device->allocate(static_cast<std::int64_t>(ends.size() * sizeof(int)));
  device->copy_to_device(groups->data(), ends.data(), groups->size_bytes());
  const auto d = device->allocate(kDElements * 2);
  for (const char* const text :
       {"types=f16 m=304 n=264 k=1000", "types=f16 m=304 n=264 k=1000 batch=4 group_kind=rows"}) {
    const Problem problem = problem_of(text);
    for (const Family* family : families("cuda")) {
      const std::vector<Config> configs = configs_of(*family, problem, device->limits());
      for (std::size_t index = 0; index < configs.size(); index += configs.size() / 3 + 1) {
        for (const int split_k : {1, 4}) {
          Config config = configs[index];
          if (split_k > 1) {
            if (!config.find("split_k")) {
              continue;
            }
            config.set("split_k", split_k);
          }
          if (!refusal(*family, problem, config, device->limits()).empty()) {
            continue;
          }
          INFO(family->name() << " " << to_text(config));
          const Loaded loaded(*device, problem, *family, config);
          Arguments arguments = arguments_of(problem);
          arguments.a = inputs->data();
          arguments.b = static_cast<const char*>(inputs->data()) + 304 * 1000 * 2;
          arguments.d = d->data();
          arguments.groups = static_cast<const int*>(groups->data());
          arguments.workspace = loaded.workspace ? loaded.workspace->data() : nullptr;
          CHECK(different_launches(*device, loaded, arguments, kDElements * 2) == 0);
        }
      }
    }
  }
}

namespace {

// A product of integers, which is exact in any order of summation.
struct WholeProduct {
  static constexpr int kM = 1024, kN = 1024, kK = 1024;

  WholeProduct() : a(kM * kK), b(kK * kN), d(kM * kN) {
    std::mt19937 random(20261122);
    std::vector<int> whole_a(a.size()), whole_b(b.size());
    for (std::size_t index = 0; index < a.size(); ++index) {
      whole_a[index] = static_cast<int>(random() % 3);  // 0 to 2: sums are at most 2048
      a[index] = f16_bits(whole_a[index]);
    }
    for (std::size_t index = 0; index < b.size(); ++index) {
      whole_b[index] = static_cast<int>(random() % 2);
      b[index] = f16_bits(whole_b[index]);
    }
    std::vector<int> row(kN);
    for (std::size_t m = 0; m < kM; ++m) {
      std::fill(row.begin(), row.end(), 0);
      for (std::size_t k = 0; k < kK; ++k) {
        const int factor = whole_a[m * kK + k];
        for (std::size_t n = 0; n < kN; ++n) {
          row[n] += factor * whole_b[k * kN + n];
        }
      }
      std::transform(row.begin(), row.end(), d.begin() + static_cast<std::ptrdiff_t>(m * kN),
                     f16_bits);
    }
  }

  std::vector<std::uint16_t> a, b, d;
};

// A stream with its own operands and workspace.
struct Lane {
  Lane(Device& gpu, const Problem& problem, const Family& family, const Config& config,
       const DeviceMemory& a, const DeviceMemory& b)
      : device(gpu),
        loaded(gpu, problem, family, config),
        d(gpu.allocate(static_cast<std::int64_t>(problem.m * problem.n * 2))),
        arguments(arguments_of(problem)) {
    arguments.a = a.data();
    arguments.b = b.data();
    arguments.d = d->data();
    arguments.workspace = loaded.workspace->data();
  }

  void poison() const {
    device.set_bytes(d->data(), 0xff, d->size_bytes());
    device.synchronize(device.own_stream());
  }
  int run(const Launch& launch) const {
    return loaded.kernel->run(launch, arguments, stream.handle());
  }
  // Waits; returns whether D is right and the workspace's counters are zero again.
  bool is_right(const std::vector<std::uint16_t>& expected) const {
    std::vector<std::uint16_t> got(expected.size());
    std::vector<char> counters(kWorkspaceCounterBytes);
    device.synchronize(stream.handle());
    device.copy_to_host(got.data(), d->data(), d->size_bytes());
    device.copy_to_host(counters.data(), arguments.workspace, kWorkspaceCounterBytes);
    return got == expected && std::count(counters.begin(), counters.end(), 0) ==
                                  static_cast<std::ptrdiff_t>(counters.size());
  }

  Device& device;
  Loaded loaded;
  std::unique_ptr<DeviceMemory> d;
  Arguments arguments;
  OwnStream stream;
};

}  // namespace

TEST_CASE("CTAs that reduce split-K slices need not run at the same time", "[gpu][simt][wgmma]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const Device::Current current(*device);
  const Problem problem = f16_problem(WholeProduct::kM, WholeProduct::kN, WholeProduct::kK);
  const WholeProduct product;
  const auto a = device->allocate(static_cast<std::int64_t>(product.a.size() * 2));
  const auto b = device->allocate(static_cast<std::int64_t>(product.b.size() * 2));
  device->copy_to_device(a->data(), product.a.data(), a->size_bytes());
  device->copy_to_device(b->data(), product.b.data(), b->size_bytes());
  const auto of_wgmma = [](int block_m, int block_n, const Knobs& changes) {
    Config config = wgmma_config(
        {{"block_m", block_m}, {"block_n", block_n}, {"evict_first", 1}, {"prefetch", 2}});
    for (const auto& [knob, value] : changes) {
      config.set(knob, value);
    }
    return Candidate{&wgmma_family(), config};
  };
  const auto of_simt = [](int block_m, int block_n, int split_k) {
    Config config = *parse_config(
        "block_k=8 warp_m=64 warp_n=64 thread_m=16 thread_n=8 stages=2 async_copy=0 group_m=8");
    config.set("block_m", block_m).set("block_n", block_n).set("split_k", split_k);
    return Candidate{&simt_family(), config};
  };
  const Candidate reducing[] = {
      of_wgmma(128, 256, {{"split_k", 4}}),
      of_wgmma(128, 256, {{"split_k", 4}, {"epilogue_stages", 1}}),
      of_wgmma(256, 192, {{"split_k", 5}, {"swap_ab", 1}, {"stages", 3}}),
      of_wgmma(256, 160, {{"split_k", 5}, {"swap_ab", 1}, {"epilogue_stages", 1}}),
      of_wgmma(128, 128, {{"split_k", 2}, {"stages", 6}}),
      of_wgmma(256, 168, {{"split_k", 3}, {"stages", 3}}),
      of_wgmma(256, 168, {{"split_k", 3}, {"swap_ab", 1}, {"stages", 3}}),
      of_wgmma(128, 256, {{"split_k", 4}, {"gpc_aware", 1}}),
      of_wgmma(128, 256, {{"split_k", 4}, {"gpc_aware", 1}, {"cluster_m", 2}}),
      of_wgmma(128, 256, {{"split_k", 4}, {"gpc_aware", 1}, {"cluster_m", 2}, {"cluster_n", 2}}),
      of_simt(256, 128, 4),
      of_simt(64, 256, 3),
      of_simt(128, 64, 21)};
  for (const Candidate& candidate : reducing) {
    const auto& [family, config] = candidate;
    const bool is_persistent = family == &wgmma_family();
    if (is_persistent && device->limits().arch != 90) {
      continue;
    }
    INFO(to_text(candidate));
    REQUIRE(refusal(*family, problem, config, device->limits()) == "");
    const Lane first(*device, problem, *family, config, *a, *b);
    const Lane second(*device, problem, *family, config, *a, *b);

    // One CTA must be able to do all the work alone, so it must not wait for another CTA's slice.
    if (is_persistent && config.at("gpc_aware") == 0) {
      Launch of_one_block = first.loaded.launch;
      of_one_block.grid[0] = 1;
      first.poison();
      REQUIRE(first.run(of_one_block) == 0);
      CHECK(first.is_right(product.d));
    }

    // The launches of two streams compete for SMs.
    int wrong = 0;
    for (int time = 0; time < 100; ++time) {
      first.poison();
      second.poison();
      for (int launch = 0; launch < 4; ++launch) {
        REQUIRE(first.run(first.loaded.launch) == 0);
        REQUIRE(second.run(second.loaded.launch) == 0);
      }
      wrong += !first.is_right(product.d) + !second.is_right(product.d);
    }
    CHECK(wrong == 0);
  }
}

}  // namespace tunedgemm::internal
