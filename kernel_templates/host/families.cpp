#include "kernel_templates/host/families.h"

#include <algorithm>

#include "kernel_templates/base/division.h"

namespace tunedgemm::internal {
namespace {

std::string compiler_command(const Source&, const DeviceLimits&) {
  return "c++ -std=c++20 -O3 -march=native -shared -fPIC";
}

// The time of a kernel call, and of waking a sleeping thread and waiting for it (AMD EPYC, 2
// threads, 2026-11).
constexpr double kCallUs = 0.2;
constexpr double kWakeUs = 4.0;

}  // namespace

const BackendFamilies& host_families() {
  static const BackendFamilies all{
      .backend = "host",
      .number = 1,
      .families = {&naive_mnk_family(), &reordered_mkn_family(), &transposed_b_family(),
                   &blocked_family()},
      .baseline = &naive_mnk_family(),
      .compiler_command = compiler_command,
  };
  return all;
}

HostFamily::HostFamily(std::string_view name, std::string_view file, std::vector<Knob> knobs)
    : Family(name, "host", file, std::move(knobs)) {}

std::string HostFamily::why_not_device(const Config& config, const DeviceLimits& limits) const {
  return limits.backend == "host" ? why_not_knobs(config) : "this family runs on the host only";
}

std::vector<std::pair<std::string, std::string>> HostFamily::launch_defines(
    const Config&, const Launch& launch) const {
  return {{"SCRATCH_BYTES", std::to_string(launch.shared_bytes)}};
}

Launch launch_for(std::int64_t jobs, const DeviceLimits& limits) {
  const std::int64_t threads = std::clamp<std::int64_t>(jobs, 1, std::max(limits.threads, 1));
  return {.grid = {static_cast<std::uint32_t>(threads), 1, 1}};
}

double host_us(std::int64_t jobs, double cycles_per_job, const DeviceLimits& limits) {
  const std::int64_t threads = launch_for(jobs, limits).grid[0];
  const std::int64_t waves = ceil_divide(jobs, threads);
  const double wake_us = threads > 1 ? kWakeUs : 0;
  return kCallUs + wake_us + static_cast<double>(waves) * cycles_per_job / (limits.clock_ghz * 1e3);
}

double host_memory_us(double bytes, const DeviceLimits& limits) {
  return bytes / (limits.memory_gb_per_s * 1e3);
}

double epilogue_cycles(const Problem& problem) {
  const double plain = problem.beta == ScalarClass::kZero ? 0.25 : 0.5;
  const ActivationTraits& activation = traits(problem.activation);
  return plain +
         (problem.a.type == DataType::kF64 ? activation.host_cycles_f64 : activation.host_cycles);
}

}  // namespace tunedgemm::internal
