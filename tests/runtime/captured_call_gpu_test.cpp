// Calls on a stream that is captured into a graph.

#include <cstdint>
#include <memory>
#include <vector>

#include "kernel_templates/cuda/families.h"
#include "runtime/cuda/check.h"
#include "runtime/cuda/driver.h"
#include "runtime/launch.h"
#include "tests/support/catch.h"
#include "tests/support/device_fixture.h"
#include "tests/support/instances.h"

namespace tunedgemm {
namespace {

constexpr std::int64_t kSize = 1024;
constexpr std::int64_t kBytes = kSize * kSize * 2;

std::vector<std::uint16_t> read(Device& device, const void* data) {
  std::vector<std::uint16_t> bits(kSize * kSize);
  device.copy_to_host(bits.data(), data, kBytes);
  return bits;
}

// Of f16: whole numbers that differ along rows and columns.
std::vector<std::uint16_t> small_numbers(int seed) {
  constexpr std::uint16_t kNumbers[] = {0x0000, 0x3c00, 0xbc00, 0x4000, 0xc000};  // 0 1 -1 2 -2
  std::vector<std::uint16_t> bits(kSize * kSize);
  for (std::size_t index = 0; index < bits.size(); ++index) {
    bits[index] = kNumbers[(index * 7 + index / kSize * 3 + static_cast<std::size_t>(seed)) % 5];
  }
  return bits;
}

}  // namespace

TEST_CASE("A captured call runs the winner that asks for GPCs, without a workspace", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU_CONTEXT(context);
  Device& device = context->device();
  if (device.limits().gpc_of_sm.empty()) {
    TUNEDGEMM_SKIP("the GPCs of this device are not known");
  }
  const Device::Current current(device);
  tunedgemm_problem problem;
  tunedgemm_problem_init(&problem, kSize, kSize, kSize, TUNEDGEMM_F16, TUNEDGEMM_F16,
                         TUNEDGEMM_F16);

  // The winner: the first candidate of one part of K, told to ask.
  const Problem canonical_problem =
      canonical(make_problem(kSize, kSize, kSize, DataType::kF16, DataType::kF16, DataType::kF16))
          .problem;
  Record winner;
  winner.problem = canonical_problem;
  winner.device = device.identity();
  winner.toolchain = device.toolchain();
  winner.family = wgmma_family().name();
  winner.config = configs_of(wgmma_family(), canonical_problem, device.limits()).front();
  winner.config.set("split_k", 1).set("gpc_aware", 1);
  REQUIRE(refusal(wgmma_family(), winner.problem, winner.config, device.limits()) == "");
  winner.family_fingerprint = wgmma_family().fingerprint();
  winner.rigor = Rigor::kNormal;
  const Source source =
      instance_of(wgmma_family(), winner.problem, winner.config, device.limits()).source();
  context->store().put(winner, source, std::get<Binary>(device.compile(source)), {});

  const auto a = device.allocate(kBytes), b = device.allocate(kBytes), d = device.allocate(kBytes);
  device.copy_to_device(a->data(), small_numbers(0).data(), kBytes);
  device.copy_to_device(b->data(), small_numbers(1).data(), kBytes);
  tunedgemm_buffers buffers;
  tunedgemm_buffers_init(&buffers);
  buffers.a = a->data();
  buffers.b = b->data();
  buffers.d = d->data();
  const Plan& plan = context->plan(call_key(problem, buffers), nullptr);
  REQUIRE(plan.candidate.config == winner.config);
  REQUIRE(plan.launch.workspace_is_optional);
  constexpr int kNanBytes = 0xff;
  device.set_bytes(d->data(), kNanBytes, kBytes);
  REQUIRE(launch(plan, buffers, nullptr) == 0);
  device.synchronize(nullptr);
  const std::vector<std::uint16_t> expected = read(device, d->data());

  const auto opened = cuda::Driver::open();
  const cuda::Driver& driver = *std::get<0>(opened);
  cuda::CUstream stream = nullptr;
  TUNEDGEMM_CHECK(driver, cuStreamCreate(&stream, cuda::CU_STREAM_NON_BLOCKING), "a stream");
  TUNEDGEMM_CHECK(driver, cuStreamBeginCapture(stream, cuda::CU_STREAM_CAPTURE_MODE_RELAXED),
                  "a stream");
  for (int call = 0; call < 3; ++call) {
    CHECK(launch(plan, buffers, stream) == 0);
  }
  cuda::CUgraph graph = nullptr;
  cuda::CUgraphExec executable = nullptr;
  TUNEDGEMM_CHECK(driver, cuStreamEndCapture(stream, &graph), "a stream");
  CHECK(context->find_workspace(plan.launch.workspace_bytes, stream) == nullptr);
  TUNEDGEMM_CHECK(driver, cuGraphInstantiate(&executable, graph, 0), "a graph");
  for (int replay = 0; replay < 2; ++replay) {
    device.set_bytes(d->data(), kNanBytes, kBytes);
    device.synchronize(nullptr);
    TUNEDGEMM_CHECK(driver, cuGraphLaunch(executable, stream), "a graph");
    device.synchronize(stream);
    CHECK(read(device, d->data()) == expected);
  }
  driver.cuGraphExecDestroy(executable);
  driver.cuGraphDestroy(graph);
  driver.cuStreamDestroy(stream);
}

}  // namespace tunedgemm
