#include "tools/tunedgemm/bench_roofline.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace tunedgemm {
namespace {

// Operations a cycle of one SM with dense matrices, from the data sheets: peak / (clock * SMs).
// f16 stands for bf16 too, and for sums in f32; tf32 is half of it.
struct Peak {
  int least_arch;
  double f16, fp8, s8, f32, f64;
};
constexpr std::array kPeaks{
    Peak{80, 2048, 2048, 4096, 128, 128},    Peak{86, 1024, 1024, 2048, 256, 4},
    Peak{89, 1024, 2048, 2048, 256, 4},      Peak{90, 4096, 8192, 8192, 256, 256},
    Peak{100, 8192, 16384, 16384, 256, 128}, Peak{120, 1024, 2048, 2048, 256, 4},
};
// A product of f32 is emulated by so many of tf32.
constexpr double kEmulationProducts = 3;

double operations_per_cycle(const Problem& problem, const Peak& peak) {
  switch (problem.a.type) {
    case DataType::kF64:
      return peak.f64;
    case DataType::kF32:
      return problem.numerics == Numerics::kIeee   ? peak.f32
             : problem.numerics == Numerics::kTf32 ? peak.f16 / 2
                                                   : peak.f16 / 2 / kEmulationProducts;
    case DataType::kE4M3:
    case DataType::kE5M2:
      return peak.fp8;
    case DataType::kS8:
      return peak.s8;
    default:
      return peak.f16;
  }
}

}  // namespace

double roofline_us(const Problem& problem, const DeviceLimits& limits, double clock_mhz) {
  const auto above = std::find_if(kPeaks.begin(), kPeaks.end(),
                                  [&](const Peak& peak) { return peak.least_arch > limits.arch; });
  if (limits.backend != Backend::kCuda || above == kPeaks.begin()) {
    return 0;
  }
  const double cycles_per_us = clock_mhz > 0 ? clock_mhz : limits.clock_ghz * 1e3;
  const double computing_us = flops(problem) / (operations_per_cycle(problem, *std::prev(above)) *
                                                limits.sm_count * cycles_per_us);
  const double moving_us = minimum_bytes(problem) / (limits.memory_gb_per_s * 1e3);
  return problem.regime == Regime::kWarm ? computing_us : std::max(computing_us, moving_us);
}

}  // namespace tunedgemm
