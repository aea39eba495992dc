#pragma once

// CudaDevice: one NVIDIA GPU as a Device.

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/backend.h"
#include "runtime/cuda/compile_process.h"
#include "runtime/cuda/module.h"
#include "runtime/cuda/nvml.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/cuda/stream.h"
#include "runtime/cuda/stream_capture.h"
#include "runtime/cuda/threaded_nvrtc.h"
#include "runtime/device.h"

namespace tunedgemm::internal::cuda {

/// Thread-safe.
class CudaDevice final : public Device, private HardwareProbe {
 public:
  /// Throws DeviceError.
  CudaDevice(const Driver& driver, const DeviceOptions& options);

  const Backend& backend() const override;
  const DeviceIdentity& identity() const override { return identity_; }
  const DeviceLimits& limits() const override { return *current_limits_; }
  const Toolchain& toolchain() override { return toolchain_; }
  std::string why_not_compile() override;

  HardwareProbe* probe() override { return this; }

  std::variant<Binary, CompileFailure> compile_within(const Source& source,
                                                      double seconds) override;
  int compile_threads() const override;
  bool compiling_disturbs_timing() const override { return false; }
  std::variant<std::unique_ptr<CompiledKernel>, Rejection> load(const Binary& binary,
                                                                const Launch& launch) override;

  std::string why_not_memory(const void* pointer) const override;
  std::unique_ptr<DeviceMemory> allocate(std::int64_t bytes) override;
  std::int64_t free_memory_bytes() const override;
  void copy_to_device(void* destination, const void* source, std::int64_t bytes) override;
  void copy_to_host(void* destination, const void* source, std::int64_t bytes) override;
  void set_bytes(void* destination, int value, std::int64_t bytes) override;
  int set_bytes_async(void* destination, int value, std::int64_t bytes,
                      StreamHandle stream) noexcept override;

  StreamHandle own_stream() override { return stream_.handle(); }
  void synchronize(StreamHandle stream) override;
  std::optional<std::uint64_t> stream_id(StreamHandle stream) const noexcept override;
  std::unique_ptr<StreamCapture> capture_of(StreamHandle stream) const override;

  std::variant<double, Rejection> time(const TimedLaunch& timed, int launches) override;
  Clock clock() override;
  std::string neighbour(std::chrono::system_clock::time_point since) override;
  bool is_current() const noexcept override;

  std::string describe(int error) const override { return driver_->describe(error); }

 protected:
  void* make_current() const noexcept override;
  void restore_current(void* previous) const noexcept override;

 private:
  // HardwareProbe: finds the GPC of each SM.
  std::string key() const override;
  std::string run() override;
  void use(std::string_view text) override;

  /// Throws DeviceError if NVRTC is missing or cannot be loaded.
  const ThreadedNvrtc& nvrtc();
  const InterposedKernel& interposed_kernel();
  /// Throws DeviceError if a kernel has hung.
  void check_usable() const;
  /// Precondition: probe_mutex_ is held, and this is the first call.
  void set_gpcs(std::vector<int> gpc_of_sm);

  const Driver* driver_;
  CUdevice device_;
  PrimaryContext context_;
  Stream stream_;
  std::unique_ptr<const Nvml> nvml_;  ///< null if there is no NVML
  DeviceIdentity identity_;
  const DeviceLimits limits_;  ///< without the results of the probe
  std::string probe_key_;      ///< empty if there is nothing to probe
  std::mutex probe_mutex_;
  std::unique_ptr<const DeviceLimits> probed_limits_;  ///< written once
  std::atomic<const DeviceLimits*> current_limits_{&limits_};
  std::optional<NvrtcLocation> nvrtc_location_;
  bool has_own_compiler_;                                ///< DeviceOptions::compile_command
  std::unique_ptr<CompileProcesses> compile_processes_;  ///< null: compile in this process
  double nvrtc_seconds_;
  int compile_threads_;  ///< DeviceOptions::compile_threads
  Toolchain toolchain_;
  std::mutex nvrtc_mutex_;
  std::unique_ptr<const ThreadedNvrtc> nvrtc_;  ///< null until nvrtc() is first called
  TriggeringKernels triggering_kernels_;
  std::mutex interposed_kernel_mutex_;
  std::unique_ptr<const InterposedKernel> interposed_kernel_;  ///< null until it is first needed
};

}  // namespace tunedgemm::internal::cuda
