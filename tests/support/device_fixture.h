#pragma once

// The GPU of a test: opened once a test case, or the case is skipped where there is none.

#include <memory>
#include <string>

#include "runtime/device.h"
#include "tests/support/skip.h"

namespace tunedgemm {

/// Null if there is no CUDA device; then `why_not` says so.
inline std::unique_ptr<Device> open_test_gpu(std::string& why_not) {
  return cuda_device_count(&why_not) > 0 ? open_cuda_device(0) : nullptr;
}

}  // namespace tunedgemm

/// Declares a `const std::unique_ptr<Device> device`, or leaves the test case as skipped. Only
/// directly in a TEST_CASE without sections.
#define TUNEDGEMM_OPEN_TEST_GPU(device)                    \
  std::string device##_missing;                            \
  const std::unique_ptr<::tunedgemm::Device> device =      \
      ::tunedgemm::open_test_gpu(device##_missing);        \
  if (!device) {                                           \
    TUNEDGEMM_SKIP("no CUDA device: " + device##_missing); \
  }                                                        \
  static_assert(true)
