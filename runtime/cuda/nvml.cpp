#include "runtime/cuda/nvml.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

namespace tunedgemm::internal::cuda {
namespace {

// The manual's numbers ("NVML API Reference Guide").
constexpr int kNvmlSuccess = 0;
constexpr std::size_t kMostProcesses = 128;
constexpr int kNvmlClockSm = 1;
constexpr unsigned long long kHardwareSlowdown = 0x08;
constexpr unsigned long long kSoftwareThermalSlowdown = 0x20;
constexpr unsigned long long kHardwareThermalSlowdown = 0x40;
constexpr unsigned long long kHardwarePowerBrake = 0x80;
constexpr unsigned long long kThrottleReasons =
    kHardwareSlowdown | kSoftwareThermalSlowdown | kHardwareThermalSlowdown | kHardwarePowerBrake;

constexpr unsigned kBusyPercent = 5;

template <typename Function>
bool find(void* library, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, symbol));
  return function != nullptr;
}

}  // namespace

// The library stays open, because it is small, and the driver may also use it.
struct Nvml::Functions {
  // nvmlProcessInfo_v2_t
  struct Process {
    unsigned pid;
    unsigned long long used_memory;
    unsigned gpu_instance, compute_instance;
  };

  // nvmlProcessUtilizationSample_t; utilizations in percent
  struct Utilization {
    unsigned pid;
    unsigned long long timestamp_us;  // since 1970
    unsigned sm, memory, encoder, decoder;
  };

  int (*init)() = nullptr;
  int (*device_by_bus_id)(const char*, void**) = nullptr;
  int (*power_limit)(void*, unsigned*) = nullptr;
  int (*clock)(void*, int, unsigned*) = nullptr;
  int (*throttle_reasons)(void*, unsigned long long*) = nullptr;
  // Null in old drivers.
  int (*processes)(void*, unsigned*, Process*) = nullptr;
  int (*utilizations)(void*, Utilization*, unsigned*, unsigned long long) = nullptr;
};

std::unique_ptr<const Nvml> Nvml::open(const std::string& pci_bus_id) {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return nullptr;
  }
  auto functions = std::make_unique<Functions>();
  const bool complete =
      find(library, "nvmlInit_v2", functions->init) &&
      find(library, "nvmlDeviceGetHandleByPciBusId_v2", functions->device_by_bus_id) &&
      find(library, "nvmlDeviceGetPowerManagementLimit", functions->power_limit) &&
      find(library, "nvmlDeviceGetClockInfo", functions->clock) &&
      find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", functions->throttle_reasons);
  if (!complete || functions->init() != kNvmlSuccess) {
    return nullptr;
  }
  find(library, "nvmlDeviceGetComputeRunningProcesses_v3", functions->processes);
  find(library, "nvmlDeviceGetProcessUtilization", functions->utilizations);
  void* device = nullptr;
  if (functions->device_by_bus_id(pci_bus_id.c_str(), &device) != kNvmlSuccess) {
    return nullptr;
  }
  return std::make_unique<const Nvml>(std::move(functions), device);
}

Nvml::Nvml(std::unique_ptr<const Functions> functions, void* device)
    : functions_(std::move(functions)), device_(device) {}

Nvml::~Nvml() = default;

int Nvml::power_limit_watts() const {
  unsigned milliwatts = 0;
  return functions_->power_limit(device_, &milliwatts) == kNvmlSuccess
             ? static_cast<int>(milliwatts / 1000)
             : 0;
}

int Nvml::sm_clock_mhz() const {
  unsigned mhz = 0;
  return functions_->clock(device_, kNvmlClockSm, &mhz) == kNvmlSuccess ? static_cast<int>(mhz) : 0;
}

bool Nvml::throttled() const {
  unsigned long long reasons = 0;
  return functions_->throttle_reasons(device_, &reasons) == kNvmlSuccess &&
         (reasons & kThrottleReasons) != 0;
}

// The caller's parent does not count: a worker's parent shares the GPU, and waits for it.
std::optional<int> Nvml::busy_neighbour(std::chrono::system_clock::time_point since) const {
  if (functions_->processes == nullptr || functions_->utilizations == nullptr) {
    return std::nullopt;
  }
  const auto own = static_cast<unsigned>(getpid());
  std::vector<Functions::Process> processes(kMostProcesses);
  auto count = static_cast<unsigned>(processes.size());
  if (functions_->processes(device_, &count, processes.data()) != kNvmlSuccess) {
    return std::nullopt;
  }
  processes.resize(count);
  if (std::ranges::find(processes, own, &Functions::Process::pid) == processes.end()) {
    return std::nullopt;
  }
  const auto since_us = static_cast<unsigned long long>(
      std::chrono::duration_cast<std::chrono::microseconds>(since.time_since_epoch()).count());
  count = 0;  // asks for the number of samples
  functions_->utilizations(device_, nullptr, &count, since_us);
  std::vector<Functions::Utilization> samples(count);
  if (count == 0 ||
      functions_->utilizations(device_, samples.data(), &count, since_us) != kNvmlSuccess) {
    return std::nullopt;
  }
  samples.resize(count);
  const auto busy = std::ranges::find_if(samples, [&](const Functions::Utilization& sample) {
    return sample.pid != own && sample.pid != static_cast<unsigned>(getppid()) &&
           sample.sm > kBusyPercent && sample.timestamp_us >= since_us;
  });
  return busy == samples.end() ? std::nullopt : std::optional(static_cast<int>(busy->pid));
}

// The file's first line: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03  Release ...";
// some builds have more words before the number.
std::string driver_version_text(int cuda_version) {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (word.find('.') != std::string::npos &&
        word.find_first_not_of("0123456789.") == std::string::npos) {
      return word;
    }
  }
  return "CUDA " + std::to_string(cuda_version / 1000) + "." +
         std::to_string(cuda_version % 1000 / 10);
}

}  // namespace tunedgemm::internal::cuda
