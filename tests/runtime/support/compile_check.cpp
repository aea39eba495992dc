#include "tests/runtime/support/compile_check.h"

#include <iostream>
#include <mutex>

#include "tests/runtime/support/in_parallel.h"
#include "tests/support/catch.h"
#include "tests/support/gpus.h"
#include "tests/support/instances.h"

namespace tunedgemm::internal {
namespace {

constexpr int kThreads = 2;

struct Compiled {
  std::string failure;  ///< empty if it compiled
  std::int64_t spill_bytes = 0;
};

Compiled compile_sample(const cuda::Nvrtc& nvrtc, const CompileSample& sample) {
  const DeviceLimits limits = limits_of(sample.arch);
  const auto compiled = nvrtc.compile(
      instance_of(*sample.family, sample.problem, sample.config, limits).source(), sample.arch);
  if (const auto* failure = std::get_if<CompileFailure>(&compiled)) {
    return {.failure = failure->log};
  }
  const Binary& binary = std::get<Binary>(compiled);
  const Launch launch = instance_of(*sample.family, sample.problem, sample.config, limits).launch;
  const std::uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  const std::int64_t shared_bytes = binary.shared_bytes + launch.shared_bytes;
  if (binary.registers <= 0) {
    return {.failure = "the log told no registers"};
  }
  if (static_cast<std::int64_t>(threads) * binary.registers > limits.registers_per_sm ||
      shared_bytes > limits.shared_bytes_per_block) {
    return {.failure = "cannot be launched: " + std::to_string(threads) + " threads with " +
                       std::to_string(binary.registers) + " registers and " +
                       std::to_string(shared_bytes) + " bytes of shared memory"};
  }
  return {.failure = "", .spill_bytes = binary.spill_bytes};
}

}  // namespace

DeviceLimits limits_of(int arch) {
  DeviceLimits limits = h200();
  limits.arch = arch;
  const bool is_small = arch == 86 || arch == 89 || arch == 120;  // workstation GPUs
  limits.sm_count = arch == 80 ? 108 : 132;
  limits.max_threads_per_sm = is_small ? 1536 : 2048;
  limits.shared_bytes_per_block = (arch == 80 ? 163 : is_small ? 99 : 227) << 10;
  limits.shared_bytes_per_sm = limits.shared_bytes_per_block + 1024;
  limits.gpc_of_sm = eight_gpcs(limits.sm_count);
  return limits;
}

std::string text_of(const CompileSample& sample) {
  return to_text(Candidate{sample.family, sample.config}) + " sm_" + std::to_string(sample.arch) +
         "\n" + to_text(sample.problem);
}

CompileReport compile_all(const cuda::Nvrtc& nvrtc, const std::vector<CompileSample>& samples,
                          std::chrono::steady_clock::time_point end) {
  CompileReport report;
  std::vector<std::string> failures;
  std::mutex mutex;
  for_each_in_parallel(samples.size(), kThreads, [&](std::size_t index, std::size_t) {
    if (std::chrono::steady_clock::now() > end) {
      return;
    }
    const Compiled compiled = compile_sample(nvrtc, samples[index]);
    const std::lock_guard<std::mutex> lock(mutex);
    ++report.compiled;
    if (!compiled.failure.empty()) {
      failures.push_back(text_of(samples[index]) + "\n" + compiled.failure);
    }
    if (compiled.spill_bytes > 0) {
      ++report.spilling;
      std::cout << "spills " << compiled.spill_bytes << " bytes: " << text_of(samples[index])
                << std::endl;
    }
  });
  for (const std::string& failure : failures) {
    FAIL_CHECK(failure);
  }
  return report;
}

Source with_define(Source source, const std::string& macro, const std::string& value) {
  for (auto& [name, text] : source.defines) {
    if (name == macro) {
      text = value;
    }
  }
  return source;
}

bool is_refused_by_assertion(const cuda::Nvrtc& nvrtc, const Source& source) {
  const auto compiled = nvrtc.compile(source, 90);
  const auto* failure = std::get_if<CompileFailure>(&compiled);
  return failure != nullptr && failure->log.find("static assertion failed") != std::string::npos;
}

}  // namespace tunedgemm::internal
