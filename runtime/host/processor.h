#pragma once

// What can be known about this machine's CPU without asking anything but the operating system.

#include <cstdint>
#include <string>

#include "cache/record.h"
#include "kernel_templates/device_limits.h"

namespace tunedgemm::internal {

/// The threads that a multiplication may use: $TUNEDGEMM_THREADS if it is a positive number, else
/// the CPUs that this process may run on, or fewer where a control group grants less of their time.
int available_threads();

struct Processor {
  std::string name;       ///< "AMD EPYC 9354"
  std::string simd_name;  ///< "avx512", "avx2", "avx", "sse2", "neon", "sve"
  int simd_bits = 128;
  /// Eight hexadecimal digits over the model and all its features: a kernel compiled for this CPU
  /// may use any of them.
  std::string features;
  std::int64_t l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;  ///< of one core, one core, all together
  int maximum_mhz = 0;                                    ///< 0 where it cannot be told
  std::int64_t memory_bytes = 0;
};
/// The same in every process on the machine.
Processor this_processor();

DeviceIdentity identity_of(const Processor& processor, int threads);
/// Clock and memory bandwidth are guesses where the system does not tell: good for ranking.
DeviceLimits limits_of(const Processor& processor, int threads);

/// The clock of the first CPU now; 0 where it cannot be told.
int current_mhz();

/// What the system could give without swapping.
std::int64_t available_memory_bytes();

}  // namespace tunedgemm::internal
