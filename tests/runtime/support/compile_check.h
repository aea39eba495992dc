#pragma once

// CUDA families' sources through NVRTC, without a GPU: whether a config compiles, and at what
// price.

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel_templates/family.h"
#include "runtime/cuda/nvrtc.h"

namespace tunedgemm::internal {

/// The compute capabilities that kernels are compiled for.
inline constexpr std::array kArchitectures{80, 86, 89, 90, 100, 103, 120};

/// The numbers of a usual device with one of these compute capabilities.
DeviceLimits limits_of(int arch);

/// What to compile.
struct Sample {
  const Family* family = nullptr;
  int arch = 0;
  Problem problem;
  Config config;
};
std::string text_of(const Sample& sample);

/// What became of the kernels of a family for an architecture.
struct CompileFigures {
  std::size_t compiled = 0, spilling = 0;
  int most_registers = 0;             ///< of a thread
  std::size_t most_code_bytes = 0;    ///< of a cubin
  std::int64_t most_spill_bytes = 0;  ///< of a thread
};
struct CompileReport {
  std::size_t compiled = 0, spilling = 0;
  std::map<std::pair<std::string_view, int>, CompileFigures> figures;  ///< by family and arch
};
/// A line for each family and architecture.
std::string to_table(const CompileReport& report);

/// Compiles samples until `end`. Reports every one that fails, and lists those that spill.
CompileReport compile_all(const cuda::Nvrtc& nvrtc, const std::vector<Sample>& samples,
                          std::chrono::steady_clock::time_point end);

/// The source with another value for one of its macros.
Source with_define(Source source, const std::string& macro, const std::string& value);
/// Whether it fails to compile because of a static_assert.
bool is_refused_by_assertion(const cuda::Nvrtc& nvrtc, const Source& source);

}  // namespace tunedgemm::internal
