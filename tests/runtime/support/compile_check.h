#pragma once

// CUDA families' sources through NVRTC, without a GPU: whether a config compiles, and at what
// price.

#include <chrono>
#include <string>
#include <vector>

#include "kernel_templates/family.h"
#include "runtime/cuda/nvrtc.h"

namespace tunedgemm {

/// The numbers of a usual device with this compute capability: 80, 89 or 90.
DeviceLimits limits_of(int arch);

/// What to compile.
struct Sample {
  const Family* family = nullptr;
  int arch = 0;
  Problem problem;
  Config config;
};
std::string text_of(const Sample& sample);

struct Spills {
  std::size_t compiled = 0, spilling = 0;
};

/// Compiles samples until `end`. Reports every one that fails, and lists those that spill.
Spills compile_all(const cuda::Nvrtc& nvrtc, const std::vector<Sample>& samples,
                   std::chrono::steady_clock::time_point end);

/// The source with another value for one of its macros.
Source with_define(Source source, const std::string& macro, const std::string& value);
/// Whether it fails to compile because of a static_assert.
bool is_refused_by_assertion(const cuda::Nvrtc& nvrtc, const Source& source);

}  // namespace tunedgemm
