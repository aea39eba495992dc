#pragma once

// Compiles CUDA families' sources by NVRTC, without a GPU, and reports failures and spills.

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "kernel_templates/family.h"
#include "runtime/cuda/nvrtc.h"
#include "tests/support/skip.h"

namespace tunedgemm::internal {

/// The compute capabilities that kernels are compiled for.
inline constexpr std::array kArchitectures{80, 86, 89, 90, 100, 103, 120};

/// The limits of a typical device with one of these compute capabilities.
DeviceLimits limits_of(int arch);

/// A candidate to compile.
struct CompileSample {
  const Family* family = nullptr;
  int arch = 0;
  Problem problem;
  Config config;
};
std::string text_of(const CompileSample& sample);

struct CompileReport {
  std::size_t compiled = 0, spilling = 0;
};

/// Compiles samples until `end`. Reports the samples that fail, and those that spill.
CompileReport compile_all(const cuda::Nvrtc& nvrtc, const std::vector<CompileSample>& samples,
                          std::chrono::steady_clock::time_point end);

/// The source with another value for one of its macros.
Source with_define(Source source, const std::string& macro, const std::string& value);
/// Whether a static_assert makes the compilation fail.
bool is_refused_by_assertion(const cuda::Nvrtc& nvrtc, const Source& source);

}  // namespace tunedgemm::internal

/// Declares `const cuda::Nvrtc nvrtc`, or skips the test case. Use it only directly in a TEST_CASE
/// without sections.
#define TUNEDGEMM_FIND_NVRTC(nvrtc)                                        \
  const auto nvrtc##_location = ::tunedgemm::internal::cuda::find_nvrtc(); \
  if (!nvrtc##_location) {                                                 \
    TUNEDGEMM_SKIP("no NVRTC");                                            \
  }                                                                        \
  const ::tunedgemm::internal::cuda::Nvrtc nvrtc(*nvrtc##_location)
