#include "tests/runtime/support/compile_check.h"

#include <iostream>
#include <mutex>

#include "tests/runtime/support/in_parallel.h"
#include "tests/support/catch.h"
#include "tests/support/eight_gpcs.h"
#include "tests/support/instances.h"

namespace tunedgemm {
namespace {

constexpr int kThreads = 2;

struct Compiled {
  std::string failure;  ///< empty if all is well
  std::int64_t spill_bytes = 0;
};

Compiled compile_sample(const cuda::Nvrtc& nvrtc, const Sample& sample) {
  const DeviceLimits limits = limits_of(sample.arch);
  const auto compiled = nvrtc.compile(
      instance_of(*sample.family, sample.problem, sample.config, limits).source(), sample.arch);
  if (const auto* failure = std::get_if<CompileFailure>(&compiled)) {
    return {failure->log, 0};
  }
  const Binary& binary = std::get<Binary>(compiled);
  const Launch launch = instance_of(*sample.family, sample.problem, sample.config, limits).launch;
  const std::uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  const std::int64_t shared_bytes = binary.shared_bytes + launch.shared_bytes;
  if (binary.registers <= 0) {
    return {"the log told no registers", 0};
  }
  if (static_cast<std::int64_t>(threads) * binary.registers > limits.registers_per_sm ||
      shared_bytes > limits.shared_bytes_per_block) {
    return {"cannot be launched: " + std::to_string(threads) + " threads with " +
                std::to_string(binary.registers) + " registers and " +
                std::to_string(shared_bytes) + " bytes of shared memory",
            0};
  }
  return {"", binary.spill_bytes};
}

}  // namespace

DeviceLimits limits_of(int arch) {
  DeviceLimits limits;
  limits.backend = "cuda";
  limits.arch = arch;
  limits.sm_count = arch == 80 ? 108 : 132;
  limits.max_threads_per_sm = arch == 89 ? 1536 : 2048;
  limits.shared_bytes_per_block = (arch == 80 ? 163 : arch == 89 ? 99 : 227) << 10;
  limits.shared_bytes_per_sm = limits.shared_bytes_per_block + 1024;
  limits.l2_bytes = 50 << 20;
  limits.memory_bytes = std::int64_t{80} << 30;
  limits.clock_ghz = 1.7;
  limits.memory_gb_per_s = 2000;
  limits.gpc_of_sm = eight_gpcs(limits.sm_count);
  return limits;
}

std::string text_of(const Sample& sample) {
  return to_text(Candidate{sample.family, sample.config}) + " sm_" + std::to_string(sample.arch) +
         "\n" + to_text(sample.problem);
}

Spills compile_all(const cuda::Nvrtc& nvrtc, const std::vector<Sample>& samples,
                   std::chrono::steady_clock::time_point end) {
  Spills spills;
  std::vector<std::string> failures;
  std::mutex mutex;
  for_each_in_parallel(samples.size(), kThreads, [&](std::size_t index, std::size_t) {
    if (std::chrono::steady_clock::now() > end) {
      return;
    }
    const Compiled compiled = compile_sample(nvrtc, samples[index]);
    const std::lock_guard<std::mutex> lock(mutex);
    ++spills.compiled;
    if (!compiled.failure.empty()) {
      failures.push_back(text_of(samples[index]) + "\n" + compiled.failure);
    }
    if (compiled.spill_bytes > 0) {
      ++spills.spilling;
      std::cout << "spills " << compiled.spill_bytes << " bytes: " << text_of(samples[index])
                << std::endl;
    }
  });
  for (const std::string& failure : failures) {
    FAIL_CHECK(failure);
  }
  return spills;
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

}  // namespace tunedgemm
