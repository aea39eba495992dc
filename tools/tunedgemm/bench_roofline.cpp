#include "tools/tunedgemm/bench_roofline.h"

#include <algorithm>

#include "runtime/backend.h"

namespace tunedgemm::internal {

double roofline_us(const Problem& problem, const DeviceLimits& limits, double clock_mhz) {
  const Backend* backend = find_backend(limits.backend);
  const double operations =
      backend == nullptr ? 0 : backend->peak_operations_per_cycle(problem, limits);
  if (operations == 0) {
    return 0;
  }
  const double cycles_per_us = clock_mhz > 0 ? clock_mhz : limits.clock_ghz * 1e3;
  const double computing_us = flops(problem) / (operations * cycles_per_us);
  const double moving_us = minimum_bytes(problem) / (limits.memory_gb_per_s * 1e3);
  return problem.regime == Regime::kWarm ? computing_us : std::max(computing_us, moving_us);
}

}  // namespace tunedgemm::internal
