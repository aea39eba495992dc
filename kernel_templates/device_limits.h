#pragma once

// DeviceLimits: the properties of a device that determine whether a config can run there, and about
// how fast.

#include <cstdint>
#include <string>
#include <vector>

namespace tunedgemm::internal {

struct DeviceLimits {
  /// The backend whose families run on the device: a folder of kernel_templates/.
  std::string backend = "host";

  // GPUs
  int arch = 0;      ///< compute capability, major * 10 + minor: 80, 89, 90, 100, 120
  int sm_count = 0;  ///< 0: no GPU
  /// The CTAs that a launch may have, so that it leaves the other SMs alone; 0: any number.
  std::int64_t most_ctas = 0;
  int max_threads_per_block = 1024;
  int max_threads_per_sm = 2048;
  int registers_per_sm = 65536;
  std::int64_t shared_bytes_per_block = 0;  ///< the opt-in maximum of dynamic shared memory
  std::int64_t shared_bytes_per_sm = 0;
  /// The GPC of each SM, indexed by %smid and counted from 0; empty if unknown.
  std::vector<int> gpc_of_sm;

  // CPUs
  int threads = 1;  ///< the threads that a multiplication may use
  int simd_bits = 128;
  std::int64_t l1_bytes = 32 << 10;  ///< data cache of one core
  std::int64_t l3_bytes = 0;         ///< shared last-level cache

  // Both
  std::int64_t l2_bytes = 0;  ///< GPU: the whole device; CPU: one core
  std::int64_t memory_bytes = 0;
  double clock_ghz = 1.0;
  double memory_gb_per_s = 10.0;

  bool is_gpu() const { return sm_count > 0; }

  friend bool operator==(const DeviceLimits&, const DeviceLimits&) = default;
};

}  // namespace tunedgemm::internal
