#pragma once

// The CPU families by name, listed by families.cpp, and their common code. In a Launch on the host,
// `grid[0]` is the number of participating threads, and `shared_bytes` is the scratch memory of
// each thread.

#include "kernel_templates/family.h"

namespace tunedgemm::internal {

const Family& naive_mnk_family();
const Family& reordered_mkn_family();
const Family& transposed_b_family();
const Family& blocked_family();

/// A family whose kernels run on the CPU.
class HostFamily : public Family {
 public:
  HostFamily(std::string_view name, std::string_view file, std::vector<Knob> knobs);

 protected:
  /// Refuses bad knobs, and devices other than the host.
  std::string why_not_device(const Config& config, const DeviceLimits& limits) const;
  std::vector<std::pair<std::string, std::string>> launch_defines(
      const Config& config, const Launch& launch) const override;
};

/// A launch with one thread for each of `jobs` equal pieces of work, up to the number of threads.
Launch launch_for(std::int64_t jobs, const DeviceLimits& limits);

/// The time of `jobs` equal pieces of work of `cycles_per_job`, distributed over the threads,
/// including the cost of waking them.
double host_us(std::int64_t jobs, double cycles_per_job, const DeviceLimits& limits);

/// The time to move these bytes between memory and cores.
double host_memory_us(double bytes, const DeviceLimits& limits);

/// Cycles to turn one accumulator into an element of D.
double epilogue_cycles(const Problem& problem);

}  // namespace tunedgemm::internal
