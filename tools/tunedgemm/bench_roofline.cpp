#include "tools/tunedgemm/bench_roofline.h"

#include <algorithm>

#include "kernel_templates/cuda/gpu_facts.h"

namespace tunedgemm {
namespace {

// A product of f32 is emulated by so many of tf32.
constexpr double kEmulationProducts = 3;
constexpr int kLeastArch = 80;

double operations_per_cycle(const Problem& problem, const GpuFacts& facts) {
  const bool emulated = problem.numerics == Numerics::kEmulated;
  return 2 * peak_multiply_adds(problem, facts) / (emulated ? kEmulationProducts : 1);
}

}  // namespace

double roofline_us(const Problem& problem, const DeviceLimits& limits, double clock_mhz) {
  const GpuFacts& facts = gpu_facts(limits.arch);
  if (!limits.is_gpu() || facts.arch < kLeastArch) {
    return 0;
  }
  const double cycles_per_us = clock_mhz > 0 ? clock_mhz : limits.clock_ghz * 1e3;
  const double computing_us =
      flops(problem) / (operations_per_cycle(problem, facts) * limits.sm_count * cycles_per_us);
  const double moving_us = minimum_bytes(problem) / (limits.memory_gb_per_s * 1e3);
  return problem.regime == Regime::kWarm ? computing_us : std::max(computing_us, moving_us);
}

}  // namespace tunedgemm
