#include "runtime/evaluation/roofline.h"

#include <algorithm>

#include "kernel_templates/cuda/gpu_facts.h"

namespace tunedgemm {
namespace {

// Two operations a multiply-add. Nothing is known to do more than the greatest of the known.
double cuda_operations_per_cycle(const Problem& problem, int arch) {
  const GpuFacts& facts = gpu_facts(arch);
  return 2 * peak_multiply_adds(problem, facts.is_known() ? facts : greatest_gpu_facts());
}

// Of one core: two vector units that multiply and add.
double host_operations_per_cycle(const Problem& problem, const DeviceLimits& limits) {
  const std::int64_t accumulator_bytes =
      std::min<std::int64_t>(size_bytes(accumulator(problem.a.type, problem.b.type)), 8);
  // Integers and halves may be multiplied several to a lane.
  const double packing =
      problem.a.type == DataType::kF64 || problem.a.type == DataType::kF32 ? 1 : 4;
  return packing * 2 * 2 * static_cast<double>(limits.simd_bits) /
         (8 * static_cast<double>(accumulator_bytes));
}

}  // namespace

double device_roofline_us(const Problem& problem, const DeviceLimits& limits) {
  const bool is_gpu = limits.is_gpu();
  // The clock of a CPU is told without its turbo; that of a GPU is its highest.
  const double cycles_per_us = limits.clock_ghz * 1e3 * (is_gpu ? 1.1 : 2.5);
  const double operations_per_us =
      is_gpu ? cycles_per_us * limits.sm_count * cuda_operations_per_cycle(problem, limits.arch)
             : cycles_per_us * limits.threads * host_operations_per_cycle(problem, limits);
  const double computing = flops(problem) / std::max(operations_per_us, 1.0);
  if (!is_gpu || problem.regime == Regime::kWarm) {
    return computing;
  }
  const double inputs = static_cast<double>(problem.m * size_bytes(problem.a.type) +
                                            problem.n * size_bytes(problem.b.type)) *
                        static_cast<double>(problem.k);
  const double bytes_per_us = limits.memory_gb_per_s * 1e3;
  return std::max(computing, inputs / (2 * std::max(bytes_per_us, 1.0)));
}

}  // namespace tunedgemm
