#pragma once

// The families of CPUs by name, which families.cpp lists, and what they share. On the host a Launch
// says: `grid[0]` threads of the team take part, each with `shared_bytes` of scratch of its own, as
// a block of a GPU has shared memory.

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
  /// Refuses knobs, and other devices.
  std::string why_not_device(const Config& config, const DeviceLimits& limits) const;
  std::vector<std::pair<std::string, std::string>> launch_defines(
      const Config& config, const Launch& launch) const override;
};

/// A launch that gives each of `jobs` equal pieces of work a thread, as far as there are threads.
Launch launch_for(std::int64_t jobs, const DeviceLimits& limits);

/// The time of `jobs` equal pieces of work of so many cycles each, dealt out to the threads, with
/// what it costs to wake them.
double host_us(std::int64_t jobs, double cycles_per_job, const DeviceLimits& limits);

/// The time to move these bytes between the memory and the cores.
double host_memory_us(double bytes, const DeviceLimits& limits);

/// Cycles to take one sum to its element of D.
double epilogue_cycles(const Problem& problem);

}  // namespace tunedgemm::internal
