// Compiles wgmma_first.cu, which belongs to no family, and compares its results on the GPU with the
// reference on the CPU, in guarded and poisoned memory.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "kernel_templates/base/division.h"
#include "kernel_templates/source.h"
#include "runtime/evaluation/operands.h"
#include "runtime/evaluation/verifier.h"
#include "tests/runtime/support/compile_check.h"
#include "tests/support/catch.h"
#include "tests/support/device_fixture.h"
#include "tests/support/seed.h"

namespace tunedgemm::internal {
namespace {

// M, N, K: tiles, tiles ± 1, primes, short and long K.
constexpr int kShapes[][3] = {{1, 1, 1},       {1, 1, 8},      {16, 8, 8},      {128, 128, 64},
                              {127, 129, 63},  {129, 127, 65}, {128, 256, 256}, {255, 257, 320},
                              {131, 113, 257}, {1, 509, 127},  {509, 1, 383},   {256, 128, 2048},
                              {67, 61, 4099},  {385, 257, 193}};

Source source_of(DataType d) {
  Source source;
  source.backend = "cuda";
  source.file = embedded_file("cuda/wgmma/wgmma_first.cu");
  source.includes = included_files(source.file);
  source.defines = {{"TYPE_D", std::string(name(d))}};
  source.entry = "tunedgemm_wgmma_first";
  source.needs_exact_architecture = true;
  return source;
}

// Rows of A and columns of B are as short as TMA allows; rows of D have two elements of padding.
CanonicalProblem problem_of(std::int64_t m, std::int64_t n, std::int64_t k, DataType d) {
  Problem problem = make_problem(m, n, k, DataType::kBF16, DataType::kBF16, d, "nt");
  problem.a.leading_dimension = problem.b.leading_dimension = round_up(k, 8);
  problem.a.alignment_bytes = problem.b.alignment_bytes = 16;
  problem.d.leading_dimension = n + 2;
  problem.d.alignment_bytes = static_cast<std::int32_t>(size_bytes(d));
  return canonical(problem);
}

TensorMap map_of(TensorMap::Operand operand, const Matrix& matrix, std::int64_t k,
                 std::int64_t lines) {
  const std::int64_t line_bytes = matrix.leading_dimension * size_bytes(matrix.type);
  return {operand, matrix.type, {k, lines, 1}, {line_bytes, line_bytes}, {64, 128}, 128};
}

Launch launch_of(const Problem& problem) {
  Launch launch;
  launch.grid = {static_cast<std::uint32_t>(ceil_divide(problem.m, 128)),
                 static_cast<std::uint32_t>(ceil_divide(problem.n, 128)), 1};
  launch.block = {288, 1, 1};
  launch.shared_bytes = 132096;
  launch.tensor_map_count = 2;
  launch.tensor_maps = {map_of(TensorMap::Operand::kA, problem.a, problem.k, problem.m),
                        map_of(TensorMap::Operand::kB, problem.b, problem.k, problem.n)};
  return launch;
}

// The elements of D that are wrong, and the poisoned values around D that were overwritten.
std::int64_t mistakes(Device& device, const CompiledKernel& kernel, const Problem& problem) {
  VerifiedProblem verified(problem, test_seed());
  verified.scalars.alpha = 1;  // the kernel has no alpha
  std::vector<std::byte> host(static_cast<std::size_t>(verified.layout.bytes), std::byte{0xff});
  const std::unique_ptr<Verifier> verifier = make_host_verifier(1);
  for (const reference::FillTask& task : verified.fill_all(host.data())) {
    verifier->fill(task);
  }
  const auto memory = device.allocate(verified.layout.bytes);
  device.copy_to_device(memory->data(), host.data(), verified.layout.bytes);
  const Arguments arguments = verified.arguments(static_cast<std::byte*>(memory->data()));
  REQUIRE(kernel.run(launch_of(problem), arguments, device.own_stream()) == 0);
  device.copy_to_host(host.data(), memory->data(), verified.layout.bytes);

  std::vector<double> expected(static_cast<std::size_t>(problem.m * problem.n));
  const reference::Sampling all{0, 1, problem.m, 0, 1, problem.n};
  verifier->compute(verified.gemm(all, expected.data(), host.data()));
  const auto result = verifier->compare(verified.compare(all, expected.data(), host.data()));
  verifier->erase(verified.erase(host.data()));
  return static_cast<std::int64_t>(result.wrong) +
         verifier->find_out_of_bounds_writes(verified.find_out_of_bounds_writes(host.data())).count;
}

}  // namespace

TEST_CASE("wgmma_first compiles without spills and without serialized wgmma", "[nvrtc]") {
  TUNEDGEMM_FIND_NVRTC(nvrtc);
  for (const DataType d : {DataType::kF32, DataType::kBF16}) {
    const auto compiled = nvrtc.compile(source_of(d), 90);
    const auto* failure = std::get_if<CompileFailure>(&compiled);
    INFO(name(d) << ": " << (failure != nullptr ? failure->log : ""));
    REQUIRE(failure == nullptr);
    CHECK(std::get<Binary>(compiled).registers > 64);  // the accumulators
    CHECK(std::get<Binary>(compiled).spill_bytes == 0);
  }
}

TEST_CASE("wgmma_first multiplies every shape", "[gpu][wgmma_first]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  if (device->limits().arch != 90) {
    TUNEDGEMM_SKIP("wgmma needs a GPU of compute capability 9.0");
  }
  for (const DataType d : {DataType::kF32, DataType::kBF16}) {
    const Binary binary = std::get<Binary>(device->compile(source_of(d)));
    const auto kernel = std::get<0>(device->load(binary, launch_of(problem_of(1, 1, 1, d))));
    for (const auto& [m, n, k] : kShapes) {
      INFO(name(d) << " " << m << " x " << n << " x " << k << ", seed " << test_seed());
      CHECK(mistakes(*device, *kernel, problem_of(m, n, k, d)) == 0);
    }
  }
}

}  // namespace tunedgemm::internal
