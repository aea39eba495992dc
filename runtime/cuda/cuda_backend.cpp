#include <algorithm>
#include <variant>

#include "kernel_templates/cuda/gpu_facts.h"
#include "runtime/backend.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/evaluation/verifier.h"

namespace tunedgemm::internal::cuda {
namespace {

// The peak rate of an architecture older than this one is reported as unknown.
constexpr int kLeastRatedArch = 80;
// An emulated f32 product takes this many tf32 products.
constexpr double kEmulationProducts = 3;

double operations_per_sm_and_cycle(const Problem& problem, const GpuFacts& facts) {
  return 2 * peak_multiply_adds(problem, facts);
}

class CudaBackend final : public Backend {
 public:
  std::string_view name() const override { return "cuda"; }

  int device_count(std::string* why_not) const override {
    auto opened = Driver::open();
    if (const auto* sentence = std::get_if<std::string>(&opened)) {
      if (why_not != nullptr) {
        *why_not = *sentence;
      }
      return 0;
    }
    int count = 0;
    std::get<0>(opened)->cuDeviceGetCount(&count);
    if (count == 0 && why_not != nullptr) {
      *why_not = "the CUDA driver shows no device; see CUDA_VISIBLE_DEVICES and nvidia-smi";
    }
    return count;
  }

  // The driver's device numbers are ordinals (CUDA Driver API, cuDeviceGet).
  int current_ordinal() const override {
    const auto loaded = Driver::load();
    const auto* driver = std::get_if<0>(&loaded);
    CUdevice device = 0;
    return driver != nullptr && (*driver)->cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : 0;
  }

  std::string device_name(int ordinal) const override { return "cuda:" + std::to_string(ordinal); }

  std::unique_ptr<Device> open(const DeviceOptions& options) const override {
    auto opened = Driver::open();
    if (const auto* sentence = std::get_if<std::string>(&opened)) {
      throw DeviceError(DeviceError::Kind::kUnavailable, *sentence);
    }
    return std::make_unique<CudaDevice>(*std::get<0>(opened), options);
  }

  std::string compiler_file() const override {
    const auto nvrtc = find_nvrtc();
    return nvrtc ? nvrtc->path.string() + ", " + nvrtc->version : "";
  }

  std::unique_ptr<Verifier> make_verifier(Device& device, Store& store) const override {
    return make_cuda_verifier(device, store);
  }

  // The bound assumes 1.1 times the highest clock and twice the memory bandwidth. For an unknown
  // architecture it assumes the highest rates of all known architectures.
  double roofline_us(const Problem& problem, const DeviceLimits& limits) const override {
    const GpuFacts& facts = gpu_facts(limits.arch);
    const double operations_per_us =
        1.1 * limits.clock_ghz * 1e3 * limits.sm_count *
        operations_per_sm_and_cycle(problem, facts.is_known() ? facts : greatest_gpu_facts());
    const double computing = flops(problem) / std::max(operations_per_us, 1.0);
    const double inputs = static_cast<double>(problem.m * size_bytes(problem.a.type) +
                                              problem.n * size_bytes(problem.b.type)) *
                          static_cast<double>(problem.k);
    const double bytes_per_us = limits.memory_gb_per_s * 1e3;
    return std::max(computing, inputs / (2 * std::max(bytes_per_us, 1.0)));
  }

  double peak_operations_per_cycle(const Problem& problem,
                                   const DeviceLimits& limits) const override {
    const GpuFacts& facts = gpu_facts(limits.arch);
    if (facts.arch < kLeastRatedArch) {
      return 0;
    }
    const bool emulated = problem.numerics == Numerics::kEmulated;
    return limits.sm_count * operations_per_sm_and_cycle(problem, facts) /
           (emulated ? kEmulationProducts : 1);
  }

  std::int64_t cold_bytes(const DeviceLimits& limits) const override { return 2 * limits.l2_bytes; }
  bool cools_by_overwriting() const override { return true; }

  // The clock of a GPU varies under long tensor core load. A cool-down lets every sample start in
  // the same state.
  double cool_down_seconds() const override { return 4e-3; }
  double usual_seconds_per_candidate() const override { return 0.1; }
};

}  // namespace
}  // namespace tunedgemm::internal::cuda

namespace tunedgemm::internal {

const Backend& cuda_backend() {
  static const cuda::CudaBackend backend;
  return backend;
}

}  // namespace tunedgemm::internal
