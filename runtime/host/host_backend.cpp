#include <algorithm>

#include "runtime/backend.h"
#include "runtime/evaluation/verifier.h"
#include "runtime/host/host_device.h"

namespace tunedgemm::internal {
namespace {

// Many cores may share the last-level cache. Evicting more than this would take too long.
constexpr std::int64_t kMostColdBytes = 256 << 20;

// Per core: two vector units, each with a fused multiply-add per cycle.
double operations_per_core_and_cycle(const Problem& problem, const DeviceLimits& limits) {
  const std::int64_t accumulator_bytes =
      std::min<std::int64_t>(size_bytes(accumulator(problem.a.type, problem.b.type)), 8);
  // Several integers or 16-bit floats may share a lane of the accumulator's size.
  const double packing = size_bytes(problem.a.type) >= 4 ? 1 : 4;
  return packing * 2 * 2 * static_cast<double>(limits.simd_bits) /
         (8 * static_cast<double>(accumulator_bytes));
}

class HostBackend final : public Backend {
 public:
  std::string_view name() const override { return "host"; }
  int device_count(std::string*) const override { return 1; }
  int current_ordinal() const override { return 0; }
  std::string device_name(int) const override { return "host"; }

  std::unique_ptr<Device> open(const DeviceOptions& options) const override {
    return std::make_unique<HostDevice>(options.host_threads);
  }

  // Empty, because the toolchain of the device names the compiler.
  std::string compiler_file() const override { return ""; }

  std::unique_ptr<Verifier> make_verifier(Device& device, Store&) const override {
    return make_host_verifier(std::max(device.limits().threads, 1));
  }

  // The factor 2.5 covers turbo, which the reported clock excludes.
  double roofline_us(const Problem& problem, const DeviceLimits& limits) const override {
    const double operations_per_us = 2.5 * limits.clock_ghz * 1e3 * limits.threads *
                                     operations_per_core_and_cycle(problem, limits);
    return flops(problem) / std::max(operations_per_us, 1.0);
  }
  double peak_operations_per_cycle(const Problem&, const DeviceLimits&) const override { return 0; }

  std::int64_t cold_bytes(const DeviceLimits& limits) const override {
    return std::min(2 * limits.l3_bytes, kMostColdBytes);
  }
  bool cools_by_overwriting() const override { return false; }
  double cool_down_seconds() const override { return 0; }
  double usual_seconds_per_candidate() const override { return 1.0; }
};

}  // namespace

const Backend& host_backend() {
  static const HostBackend backend;
  return backend;
}

}  // namespace tunedgemm::internal
