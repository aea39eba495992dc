#pragma once

// Opens a GPU, or a context on one, for a test case, which is skipped if there is no GPU.

#include <memory>
#include <string>

#include "runtime/backend.h"
#include "runtime/context/context.h"
#include "tests/support/skip.h"

namespace tunedgemm::internal {

/// Null, with `why_not` set, if there is no CUDA device. The device's GPCs have been probed.
inline std::unique_ptr<Device> open_test_gpu(std::string& why_not) {
  if (cuda_backend().device_count(&why_not) == 0) {
    return nullptr;
  }
  auto device = cuda_backend().open({});
  device->probe()->run();
  return device;
}

/// A context on the GPU; it tunes nothing and keeps its cache in memory. Null, with `why_not` set,
/// if there is no CUDA device.
inline std::unique_ptr<Context> open_test_gpu_context(std::string& why_not) {
  if (cuda_backend().device_count(&why_not) == 0) {
    return nullptr;
  }
  ContextOptions options;
  options.backend = &cuda_backend();
  options.policy = Policy::kCompile;
  options.store.access = StoreOptions::Access::kMemoryOnly;
  auto context = Context::create(options);
  context->complete_probe();
  return context;
}

}  // namespace tunedgemm::internal

/// Declares `const auto opened = open(why_not)`, or returns and marks the test case as skipped. Use
/// it only directly in a TEST_CASE without sections.
#define TUNEDGEMM_OPEN_OR_SKIP(opened, open)               \
  std::string opened##_missing;                            \
  const auto opened = open(opened##_missing);              \
  if (!opened) {                                           \
    TUNEDGEMM_SKIP("no CUDA device: " + opened##_missing); \
  }                                                        \
  static_assert(true)
#define TUNEDGEMM_OPEN_TEST_GPU(device) \
  TUNEDGEMM_OPEN_OR_SKIP(device, ::tunedgemm::internal::open_test_gpu)
#define TUNEDGEMM_OPEN_TEST_GPU_CONTEXT(context) \
  TUNEDGEMM_OPEN_OR_SKIP(context, ::tunedgemm::internal::open_test_gpu_context)
