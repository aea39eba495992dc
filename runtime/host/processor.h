#pragma once

// Processor: the properties of this machine's CPU that the operating system reports.

#include <cstdint>
#include <string>
#include <vector>

#include "cache/record.h"
#include "kernel_templates/device_limits.h"

namespace tunedgemm::internal {

/// The number of threads that a multiplication may use: $TUNEDGEMM_THREADS (at most 1024) if that
/// is a positive number, else available_cpus().
int available_threads();

struct Processor {
  std::string name;       ///< "AMD EPYC 9354"
  std::string simd_name;  ///< "avx512", "avx2", "avx", "sse2", "neon", "scalar"
  int simd_bits = 128;
  /// The features that kernels compiled for this CPU may use: "avx2+fma+f16c". Other CPU models
  /// that have these features run the kernels, too. On ARM, a hash of the model and its features.
  std::string features;
  std::vector<std::string> compiler_flags;                ///< to compile for these features
  std::int64_t l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;  ///< per core, per core, shared
  int maximum_mhz = 0;                                    ///< 0 if unknown
  std::int64_t memory_bytes = 0;
};
/// The result is the same in every process on the machine.
Processor this_processor();

DeviceIdentity identity_of(const Processor& processor, int threads);
/// The memory bandwidth is an estimate, and so is the clock if the system does not report it.
/// Estimates are good enough for ranking.
DeviceLimits limits_of(const Processor& processor, int threads);

/// The current clock of the first CPU; 0 if unknown.
int current_mhz();

/// The memory that the system could provide without swapping.
std::int64_t available_memory_bytes();

}  // namespace tunedgemm::internal
