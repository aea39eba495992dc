#include "runtime/cuda/cuda_device.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "kernel_templates/base/log.h"
#include "runtime/available_cpus.h"
#include "runtime/backend.h"
#include "runtime/cuda/cuda_kernel.h"
#include "runtime/cuda/device_properties.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/gpcs.h"
#include "runtime/cuda/graph.h"
#include "runtime/cuda/memory.h"
#include "runtime/cuda/stream_capture.h"

namespace tunedgemm::internal::cuda {
namespace {

// A candidate whose sample takes longer than kSlowSeconds is rejected. If a wait for the tuner's
// stream takes longer than kHungSeconds, a kernel has hung, and only the end of the process stops
// the kernel.
constexpr int kSlowSeconds = 10;
constexpr int kHungSeconds = 60;

// Limits the memory use, because each compilation needs a few hundred MB.
constexpr int kMostCompileThreads = 32;

// Null without a command or NVRTC.
std::unique_ptr<CompileProcesses> processes_of(const std::vector<std::string>& command,
                                               const std::optional<NvrtcLocation>& nvrtc) {
  return command.empty() || !nvrtc ? nullptr : std::make_unique<CompileProcesses>(command, *nvrtc);
}

std::string bytes_text(std::int64_t bytes) {
  return std::to_string(bytes) + " bytes";
}

}  // namespace

CudaDevice::CudaDevice(const Driver& driver, const DeviceOptions& options)
    : driver_(&driver),
      device_(device_at(*driver_, options.ordinal)),
      context_(*driver_, device_),
      stream_(context_),
      nvml_(Nvml::open(pci_bus_id(*driver_, device_))),
      limits_(read_limits(*driver_, device_)),
      nvrtc_location_(find_nvrtc()),
      has_own_compiler_(!options.compile_command.empty()),
      compile_processes_(processes_of(
          has_own_compiler_ ? options.compile_command : installed_compiler(), nvrtc_location_)),
      nvrtc_seconds_(options.nvrtc_seconds),
      compile_threads_(options.compile_threads) {
  identity_ = read_identity(*driver_, device_, limits_, nvml_.get());
  check_usable();
  toolchain_.compiler = nvrtc_location_ ? "nvrtc " + nvrtc_location_->version : "none";
  toolchain_.driver = driver_version_text(driver_->version());
  if (have_gpcs(limits_)) {
    // The driver numbers the SMs, so another driver needs another probe.
    probe_key_ = "gpcs of " + uuid_hash(*driver_, device_) + " by driver " + toolchain_.driver;
  }
}

const Backend& CudaDevice::backend() const {
  return cuda_backend();
}

std::string CudaDevice::why_not_compile() {
  if (!nvrtc_location_) {
    return "there is no NVRTC, CUDA's run-time compiler: install a CUDA toolkit or the wheel "
           "nvidia-cuda-nvrtc, or set TUNEDGEMM_NVRTC to libnvrtc.so";
  }
  try {
    return nvrtc().why_not(limits_.arch);
  } catch (const DeviceError& error) {
    return error.what();
  }
}

std::string CudaDevice::key() const {
  return current_limits_ == &limits_ ? probe_key_ : "";
}

std::string CudaDevice::run() {
  const std::lock_guard<std::mutex> lock(probe_mutex_);
  if (current_limits_ == &limits_) {
    set_gpcs(find_gpcs(context_, stream_.handle(), limits_));
  }
  return to_text(std::span(limits().gpc_of_sm));
}

void CudaDevice::use(std::string_view text) {
  const std::lock_guard<std::mutex> lock(probe_mutex_);
  std::vector<int> gpc_of_sm = parse_gpcs(text, limits_);
  if (!gpc_of_sm.empty() && current_limits_ == &limits_) {
    set_gpcs(std::move(gpc_of_sm));
  }
}

void CudaDevice::set_gpcs(std::vector<int> gpc_of_sm) {
  auto probed = std::make_unique<DeviceLimits>(limits_);
  probed->gpc_of_sm = std::move(gpc_of_sm);
  probed_limits_ = std::move(probed);
  current_limits_ = probed_limits_.get();
}

const ThreadedNvrtc& CudaDevice::nvrtc() {
  const std::lock_guard<std::mutex> lock(nvrtc_mutex_);
  if (!nvrtc_) {
    if (!nvrtc_location_) {
      throw DeviceError(DeviceError::Kind::kUnavailable, "there is no NVRTC to compile with");
    }
    nvrtc_ = std::make_unique<const ThreadedNvrtc>(*nvrtc_location_);
  }
  return *nvrtc_;
}

// If a compile process fails because of the environment (it was killed, or lacked memory), compiles
// once more. Compiles in this process if none can be started, or if the installed one fails twice.
std::variant<Binary, CompileFailure> CudaDevice::compile_within(const Source& source,
                                                                double seconds) {
  const auto milliseconds = [](double limit) {
    return std::chrono::milliseconds(std::llround(1e3 * std::clamp(limit, 0.0, kLongestSeconds)));
  };
  if (compile_processes_) {
    try {
      for (int attempts_left = 2; attempts_left > 0; --attempts_left) {
        auto compiled = compile_processes_->compile(source, limits_.arch, milliseconds(seconds));
        const auto* failure = std::get_if<CompileFailure>(&compiled);
        const bool is_of_environment =
            failure != nullptr && failure->cause == CompileFailure::Cause::kEnvironment;
        if (!is_of_environment || (attempts_left == 1 && has_own_compiler_)) {
          return compiled;
        }
      }
    } catch (const std::runtime_error& error) {
      log_info(std::string(error.what()) + "; compiling in this process");
    }
  }
  return nvrtc().compile(source, limits_.arch, milliseconds(std::max(seconds, nvrtc_seconds_)));
}

int CudaDevice::compile_threads() const {
  return std::clamp(compile_threads_ > 0 ? compile_threads_ : available_cpus(), 1,
                    kMostCompileThreads);
}

std::variant<std::unique_ptr<CompiledKernel>, Rejection> CudaDevice::load(const Binary& binary,
                                                                          const Launch& launch) {
  try {
    check_usable();
    return std::make_unique<CudaKernel>(context_, triggering_kernels_, binary, launch);
  } catch (const DeviceError& error) {
    if (error.kind() == DeviceError::Kind::kLost) {
      throw;
    }
    const bool is_bad = error.kind() == DeviceError::Kind::kBadBinary;
    return Rejection{is_bad ? Reason::kLoadFailed : Reason::kUnavailable, error.what()};
  }
}

std::string CudaDevice::why_not_memory(const void* pointer) const {
  const Active active(context_);
  return why_not_reachable(*driver_, device_, pointer);
}

std::unique_ptr<DeviceMemory> CudaDevice::allocate(std::int64_t bytes) {
  check_usable();
  return std::make_unique<Memory>(context_, bytes);
}

std::int64_t CudaDevice::free_memory_bytes() const {
  return cuda::free_memory_bytes(context_);
}

void CudaDevice::copy_to_device(void* destination, const void* source, std::int64_t bytes) {
  const Active active(context_);
  TUNEDGEMM_CHECK(*driver_,
                  cuMemcpyHtoDAsync(to_device_pointer(destination), source,
                                    static_cast<std::size_t>(bytes), stream_.handle()),
                  bytes_text(bytes));
  synchronize(stream_.handle());
}

void CudaDevice::copy_to_host(void* destination, const void* source, std::int64_t bytes) {
  const Active active(context_);
  TUNEDGEMM_CHECK(*driver_,
                  cuMemcpyDtoHAsync(destination, to_device_pointer(source),
                                    static_cast<std::size_t>(bytes), stream_.handle()),
                  bytes_text(bytes));
  synchronize(stream_.handle());
}

void CudaDevice::set_bytes(void* destination, int value, std::int64_t bytes) {
  const Active active(context_);
  TUNEDGEMM_CHECK(*driver_,
                  cuMemsetD8Async(to_device_pointer(destination), static_cast<unsigned char>(value),
                                  static_cast<std::size_t>(bytes), stream_.handle()),
                  bytes_text(bytes));
  synchronize(stream_.handle());
}

int CudaDevice::set_bytes_async(void* destination, int value, std::int64_t bytes,
                                StreamHandle stream) noexcept {
  const ActiveIfPossible active(context_);
  if (active.result() != CUDA_SUCCESS) {
    return active.result();
  }
  return driver_->cuMemsetD8Async(to_device_pointer(destination), static_cast<unsigned char>(value),
                                  static_cast<std::size_t>(bytes), static_cast<CUstream>(stream));
}

void CudaDevice::check_usable() const {
  if (context_.gave_up()) {
    throw DeviceError(DeviceError::Kind::kLost,
                      "a kernel on " + identity_.name +
                          " has not ended; the GPU can be used again after this process has ended");
  }
}

// The tuner runs untested kernels on its own stream, so a wait for that stream has a time limit.
void CudaDevice::synchronize(StreamHandle stream) {
  const Active active(context_);
  if (stream != stream_.handle()) {
    TUNEDGEMM_CHECK(*driver_, cuStreamSynchronize(static_cast<CUstream>(stream)), "a stream");
    return;
  }
  check_usable();
  Event end(context_);
  end.record(stream_.handle());
  if (!end.wait(kHungSeconds)) {
    context_.give_up();
    throw DeviceError(DeviceError::Kind::kLost,
                      "a kernel has not ended after " + std::to_string(kHungSeconds) +
                          " s; the GPU can be used again after this process has ended");
  }
}

// Checks for a capture first, because cuStreamGetId invalidates a capture. Pushes the context only
// if the first attempt fails, because most threads already have a current context.
std::optional<std::uint64_t> CudaDevice::stream_id(StreamHandle stream) const noexcept {
  const auto handle = static_cast<CUstream>(stream);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  unsigned long long id = 0;
  const auto query = [&] {
    const CUresult result = driver_->cuStreamIsCapturing(handle, &status);
    if (result != CUDA_SUCCESS) {
      status = CU_STREAM_CAPTURE_STATUS_NONE;  // a launch will report the error of the stream
      return result;
    }
    return status == CU_STREAM_CAPTURE_STATUS_NONE ? driver_->cuStreamGetId(handle, &id) : result;
  };
  if (query() != CUDA_SUCCESS) [[unlikely]] {
    const ActiveIfPossible active(context_);
    query();
  }
  return status == CU_STREAM_CAPTURE_STATUS_NONE ? std::optional<std::uint64_t>(id) : std::nullopt;
}

std::unique_ptr<StreamCapture> CudaDevice::capture_of(StreamHandle stream) const {
  return CapturedStream::of(context_, static_cast<CUstream>(stream));
}

const InterposedKernel& CudaDevice::interposed_kernel() {
  const std::scoped_lock lock(interposed_kernel_mutex_);
  if (!interposed_kernel_) {
    const Active active(context_);
    interposed_kernel_ =
        std::make_unique<const InterposedKernel>(context_, limits_.sm_count, stream_.handle());
  }
  return *interposed_kernel_;
}

std::variant<double, Rejection> CudaDevice::time(const TimedLaunch& timed, int launches) {
  check_usable();
  auto graph = std::static_pointer_cast<TimingGraph>(timed.prepared);
  if (!graph || graph->launches() != launches) {
    const bool isolated = timed.launch_regime == LaunchRegime::kIsolated;
    graph = std::make_shared<TimingGraph>(context_, timed, launches,
                                          isolated ? &interposed_kernel() : nullptr);
    timed.prepared = graph;
  }
  if (const std::optional<double> seconds = graph->run(stream_.handle(), kSlowSeconds)) {
    return *seconds;
  }
  synchronize(stream_.handle());
  return Rejection{Reason::kTimedOut, std::to_string(launches) + " launches took longer than " +
                                          std::to_string(kSlowSeconds) + " s"};
}

Device::Clock CudaDevice::clock() {
  return nvml_ ? Clock{nvml_->sm_clock_mhz(), nvml_->throttled()} : Clock{};
}

std::string CudaDevice::neighbour(std::chrono::system_clock::time_point since) {
  const auto pid = nvml_ ? nvml_->busy_neighbour(since) : std::nullopt;
  if (!pid) {
    return "";
  }
  std::ifstream file("/proc/" + std::to_string(*pid) + "/comm");
  std::string program;
  std::getline(file, program);
  return "process " + std::to_string(*pid) + (program.empty() ? "" : " (" + program + ")");
}

// A thread that has chosen no device uses device 0, as in the CUDA runtime.
bool CudaDevice::is_current() const noexcept {
  CUcontext current = nullptr;
  return driver_->cuCtxGetCurrent(&current) == CUDA_SUCCESS &&
         (current == context_.handle() || (current == nullptr && device_ == 0));
}

void* CudaDevice::make_current() const noexcept {
  return push_unless_current(context_) ? context_.handle() : nullptr;
}

void CudaDevice::restore_current(void* previous) const noexcept {
  if (previous != nullptr) {
    pop(*driver_);
  }
}

}  // namespace tunedgemm::internal::cuda
