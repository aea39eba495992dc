// Replaces NVML with a GPU that always runs at full clock, so that no warm-up waits.

// These names are from the manual.
// NOLINTBEGIN(readability-identifier-naming)
#pragma GCC visibility push(default)

namespace {

constexpr int NVML_SUCCESS = 0;
int the_device = 0;

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

}  // extern "C"

#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
