#pragma once

// What the driver tells of a GPU, in the library's terms.

#include <string>

#include "runtime/cuda/driver.h"
#include "runtime/cuda/nvml.h"
#include "runtime/device.h"

namespace tunedgemm::internal::cuda {

/// All throw DeviceError.
CUdevice device_at(const Driver& driver, int ordinal);
std::string pci_bus_id(const Driver& driver, CUdevice device);
/// Tells this GPU, or this part of one, from all others, and is no serial number.
std::string uuid_hash(const Driver& driver, CUdevice device);
DeviceLimits read_limits(const Driver& driver, CUdevice device);
/// `nvml` may be null.
DeviceIdentity read_identity(const Driver& driver, CUdevice device, const DeviceLimits& limits,
                             const Nvml* nvml);

}  // namespace tunedgemm::internal::cuda
