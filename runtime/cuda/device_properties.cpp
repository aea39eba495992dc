#include "runtime/cuda/device_properties.h"

#include <array>
#include <cmath>
#include <cstddef>

#include "kernel_templates/base/sha256.h"
#include "kernel_templates/cuda/gpu_facts.h"
#include "runtime/cuda/driver.h"

namespace tunedgemm::internal::cuda {
namespace {

int attribute(const Driver& driver, CUdevice device, CUdevice_attribute which) {
  int value = 0;
  TUNEDGEMM_CHECK(
      driver, cuDeviceGetAttribute(&value, which, device),
      "attribute " + std::to_string(which) + " of CUDA device " + std::to_string(device));
  return value;
}

}  // namespace

CUdevice device_at(const Driver& driver, int ordinal) {
  int count = 0;
  TUNEDGEMM_CHECK(driver, cuDeviceGetCount(&count), "the CUDA devices");
  if (ordinal < 0 || ordinal >= count) {
    throw DeviceError(DeviceError::Kind::kUnavailable,
                      "there is no CUDA device " + std::to_string(ordinal) + ": the driver shows " +
                          std::to_string(count) + ", counted from 0");
  }
  CUdevice device = 0;
  TUNEDGEMM_CHECK(driver, cuDeviceGet(&device, ordinal), "CUDA device " + std::to_string(ordinal));
  return device;
}

std::string pci_bus_id(const Driver& driver, CUdevice device) {
  std::array<char, 32> text{};
  TUNEDGEMM_CHECK(driver, cuDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device),
                  "CUDA device " + std::to_string(device));
  return text.data();
}

std::string uuid_hash(const Driver& driver, CUdevice device) {
  CUuuid uuid{};
  TUNEDGEMM_CHECK(driver, cuDeviceGetUuid(&uuid, device), "CUDA device " + std::to_string(device));
  return sha256_hex({static_cast<const char*>(uuid.bytes), sizeof(uuid.bytes)}, 32);
}

DeviceLimits read_limits(const Driver& driver, CUdevice device) {
  const auto get = [&](CUdevice_attribute which) { return attribute(driver, device, which); };
  DeviceLimits limits;
  limits.backend = "cuda";
  limits.arch = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  limits.sm_count = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  limits.max_threads_per_block = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  limits.max_threads_per_sm = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  limits.registers_per_sm = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  limits.shared_bytes_per_block = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  limits.shared_bytes_per_sm = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  limits.l2_bytes = get(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  limits.clock_ghz = get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) * 1e-6;
  // Two transfers per memory clock, because all GPU memory is double data rate.
  limits.memory_gb_per_s = 2.0 * get(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) * 1e-6 *
                           get(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
  std::size_t bytes = 0;
  TUNEDGEMM_CHECK(driver, cuDeviceTotalMem(&bytes, device),
                  "CUDA device " + std::to_string(device));
  limits.memory_bytes = static_cast<std::int64_t>(bytes);
  return with_usual_values(limits);  // some drivers report clocks of 0
}

DeviceIdentity read_identity(const Driver& driver, CUdevice device, const DeviceLimits& limits,
                             const Nvml* nvml) {
  std::array<char, 256> name{};
  TUNEDGEMM_CHECK(driver, cuDeviceGetName(name.data(), static_cast<int>(name.size()), device),
                  "CUDA device " + std::to_string(device));
  DeviceIdentity identity;
  identity.backend = limits.backend;
  identity.name = name.data();
  identity.compute_capability = limits.arch;
  identity.units = limits.sm_count;
  identity.memory_bytes = in_whole_gib(limits.memory_bytes);
  identity.l2_bytes = limits.l2_bytes;
  identity.clock_mhz = static_cast<int>(
      std::lround(attribute(driver, device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) * 1e-6 * 1e3));
  constexpr int kPowerStepWatts = 10;
  identity.power_limit_watts = nvml == nullptr ? 0
                                               : (nvml->power_limit_watts() + kPowerStepWatts / 2) /
                                                     kPowerStepWatts * kPowerStepWatts;
  return identity;
}

}  // namespace tunedgemm::internal::cuda
