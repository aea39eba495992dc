#pragma once

// Reads the properties of a GPU from the driver. All functions throw DeviceError.

#include <string>

#include "runtime/cuda/driver.h"
#include "runtime/cuda/nvml.h"
#include "runtime/device.h"

namespace tunedgemm::internal::cuda {

CUdevice device_at(const Driver& driver, int ordinal);
std::string pci_bus_id(const Driver& driver, CUdevice device);
/// Identifies this GPU, or this MIG instance of one, without exposing a serial number.
std::string uuid_hash(const Driver& driver, CUdevice device);
DeviceLimits read_limits(const Driver& driver, CUdevice device);
/// `nvml` may be null.
DeviceIdentity read_identity(const Driver& driver, CUdevice device, const DeviceLimits& limits,
                             const Nvml* nvml);

}  // namespace tunedgemm::internal::cuda
