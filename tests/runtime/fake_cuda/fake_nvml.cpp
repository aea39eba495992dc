// Replaces NVML with a GPU that always runs at full clock, so that no warm-up waits.

#include "tests/runtime/fake_cuda/fake_nvml.h"

#include <unistd.h>

#include <chrono>

// These names are from the manual.
// NOLINTBEGIN(readability-identifier-naming)
#pragma GCC visibility push(default)

namespace {

constexpr int NVML_SUCCESS = 0;
constexpr int NVML_ERROR_INSUFFICIENT_SIZE = 7;
int the_device = 0;
tunedgemm::internal::fake_cuda::Neighbour the_neighbour;

// nvmlProcessInfo_v2_t and nvmlProcessUtilizationSample_t
struct ProcessInfo {
  unsigned pid = 0;
  unsigned long long memory = 0;
  unsigned gpu_instance = 0, compute_instance = 0;
};
struct UtilizationSample {
  unsigned pid = 0;
  unsigned long long timestamp = 0;
  unsigned sm = 0, memory = 0, encoder = 0, decoder = 0;
};

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return NVML_SUCCESS;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** device) {
  *device = &the_device;
  return NVML_SUCCESS;
}
int nvmlDeviceGetPowerManagementLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700'000;
  return NVML_SUCCESS;
}
int nvmlDeviceGetClockInfo(void*, int, unsigned* mhz) {
  *mhz = 1500;
  return NVML_SUCCESS;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = 0;
  return NVML_SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, ProcessInfo* processes) {
  *count = 0;
  if (the_neighbour.shows_this_process) {
    processes[(*count)++] = {.pid = static_cast<unsigned>(getpid()), .memory = 1};
  }
  processes[(*count)++] = {.pid = the_neighbour.pid, .memory = 1};
  return NVML_SUCCESS;
}
int nvmlDeviceGetProcessUtilization(void*, UtilizationSample* samples, unsigned* count,
                                    unsigned long long) {
  if (samples == nullptr) {
    *count = 2;
    return NVML_ERROR_INSUFFICIENT_SIZE;
  }
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const auto at = static_cast<unsigned long long>(now.count()) - the_neighbour.age_us;
  samples[0] = {.pid = static_cast<unsigned>(getpid()), .timestamp = at, .sm = 50};
  samples[1] = {.pid = the_neighbour.pid, .timestamp = at, .sm = the_neighbour.sm_percent};
  *count = 2;
  return NVML_SUCCESS;
}

void tunedgemm_fake_nvml_set(const tunedgemm::internal::fake_cuda::Neighbour* neighbour) {
  the_neighbour = *neighbour;
}

}  // extern "C"

#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
