#include "kernel_templates/cuda/families.h"

#include <algorithm>

#include "kernel_templates/cuda/geometry.h"

namespace tunedgemm::internal {
namespace {

// Until a CTA's first loads arrive, and from its last multiply-add to the end of its stores.
constexpr double kCtaCycles = 1500;
// The compiler unrolls loops over K, so that this many steps wait for their loads together.
constexpr double kUnrolledSteps = 4;
constexpr double kCacheLatency = 40;  // L1
constexpr double kCacheLineBytes = 128;
// L1 finds one cache line per cycle, and a warp's load of a column-major B touches one per thread.
constexpr double kScatteredLoad = 100;

// For an element in the epilogue. C comes from memory, and neighbouring elements of a row from the
// same sector; the bias comes from L1.
constexpr double kWaitForC = 400, kWaitForBias = 120;
constexpr double kTranscendental = 20, kTranscendentalOfSm = 2.5;  // of a thread; of all threads

// If a row along K is contiguous, only its first element in a cache line comes from memory.
double load_cycles(const Matrix& matrix, Order contiguous_along_k) {
  const double lines = matrix.order == contiguous_along_k
                           ? static_cast<double>(size_bytes(matrix.type)) / kCacheLineBytes
                           : 1 / kUnrolledSteps;
  return kMemoryLatency * lines + kCacheLatency / kUnrolledSteps;
}

std::string compiler_command(const Source& source, const DeviceLimits& limits) {
  return "nvcc -std=c++20 -cubin -arch=sm_" + std::to_string(limits.arch) +
         (source.needs_exact_architecture ? "a" : "");
}

}  // namespace

const BackendFamilies& cuda_families() {
  static const BackendFamilies all{
      .backend = "cuda",
      .number = 2,
      .families = {&naive_1d_family(), &naive_2d_family(), &row_per_block_family(),
                   &row_shared_family(), &tiled_shared_family(), &simt_family(), &mma_family(),
                   &skinny_family(), &wgmma_family()},
      .baseline = &naive_2d_family(),
      .compiler_command = compiler_command,
  };
  return all;
}

CudaFamily::CudaFamily(std::string_view name, std::string_view file, std::vector<Knob> knobs)
    : Family(name, "cuda", file, std::move(knobs)) {}

AccumulationClass CudaFamily::accumulation_class(const Problem&, const DeviceLimits&) const {
  return AccumulationClass::kInOrder;
}

std::string CudaFamily::why_not_device(const Config& config, const DeviceLimits& limits,
                                       int least_arch) const {
  std::string why = why_not_knobs(config);
  return why.empty() ? why_not_cuda(limits, least_arch) : why;
}

double naive_us(const Problem& problem, const NaiveCost& cost, double steps_of_a_thread,
                const DeviceLimits& limits) {
  const double multiply_adds = flops(problem) / 2;
  // If an SM has few f64 cores, they are slower than the loads that feed them.
  const double rate =
      std::min(cost.multiply_adds_per_cycle,
               multiply_adds_per_cycle(accumulator(problem.a.type, problem.b.type), limits.arch));
  const double elements =
      static_cast<double>(problem.m * problem.n) * static_cast<double>(problem.batch);
  const double activations =
      traits(problem.activation).is_transcendental ? kTranscendentalOfSm * elements : 0;
  const double all_threads = (multiply_adds / rate + activations) / std::max(limits.sm_count, 1);
  const double one_thread =
      kCtaCycles + steps_of_a_thread * cost.cycles_per_step + epilogue_cycles_of_element(problem);
  const double compute_us = cycles_us(std::max(all_threads, one_thread), limits);
  return kLaunchUs + std::max(compute_us, memory_us(minimum_bytes(problem), limits));
}

double load_cycles_of_b(const Problem& problem) {
  return load_cycles(problem.b, Order::kColumnMajor) +
         (problem.b.order == Order::kColumnMajor ? kScatteredLoad : 0);
}

double load_cycles_of_a_and_b(const Problem& problem) {
  return std::max(load_cycles(problem.a, Order::kRowMajor), load_cycles_of_b(problem));
}

bool has_long_activation(const Problem& problem) {
  return traits(problem.activation).is_transcendental &&
         accumulator(problem.a.type, problem.b.type) != DataType::kF32;
}

double epilogue_cycles_of_element(const Problem& problem, int loads_in_flight) {
  return (problem.beta != ScalarClass::kZero ? kWaitForC / loads_in_flight : 0) +
         (problem.bias != Bias::kNone ? kWaitForBias / loads_in_flight : 0) +
         (traits(problem.activation).is_transcendental ? kTranscendental : 0);
}

double part_inside(const Problem& problem, int rows, int columns) {
  return std::min(1.0, static_cast<double>(problem.m) / rows) *
         std::min(1.0, static_cast<double>(problem.n) / columns);
}

double scatter_of_b(const Problem& problem) {
  return problem.b.order == Order::kRowMajor ? 1 : 4;
}

std::vector<std::pair<std::string, std::string>> CudaFamily::launch_defines(
    const Config& config, const Launch& launch) const {
  std::vector<std::pair<std::string, std::string>> defines;
  if (!config.find("threads")) {
    defines.emplace_back("THREADS",
                         std::to_string(launch.block[0] * launch.block[1] * launch.block[2]));
  }
  defines.emplace_back("SHARED_BYTES", std::to_string(launch.shared_bytes));
  return defines;
}

std::vector<int> in_steps(int least, int most, int step) {
  std::vector<int> values;
  for (int value = least; value <= most; value += step) {
    values.push_back(value);
  }
  return values;
}

}  // namespace tunedgemm::internal
