#pragma once

// Memory: an allocation in device memory. why_not_reachable: whether a device can access a pointer.

#include <string>

#include "runtime/cuda/context.h"
#include "runtime/cuda/driver.h"
#include "runtime/device.h"

namespace tunedgemm::internal::cuda {

/// The driver aligns allocations to at least 256 bytes. The context must outlive the allocation.
class Memory final : public DeviceMemory {
 public:
  /// Throws DeviceError(kOutOfMemory) with the requested and the free bytes.
  Memory(const PrimaryContext& context, std::int64_t bytes);
  ~Memory() override;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* data() const override;
  std::int64_t size_bytes() const override { return bytes_; }

 private:
  const PrimaryContext& context_;
  std::int64_t bytes_;
  CUdeviceptr address_ = 0;
};

/// The pointer in the driver's type of addresses.
CUdeviceptr to_device_pointer(const void* pointer);
std::int64_t free_memory_bytes(const PrimaryContext& context);

/// Implements Device::why_not_memory. The device's context must be current. Accepts memory of the
/// device, managed memory, host memory that CUDA has allocated or registered, and memory of another
/// device that this device may access. Also accepts all other host memory if the device can read
/// pageable memory.
std::string why_not_reachable(const Driver& driver, CUdevice device, const void* pointer);

}  // namespace tunedgemm::internal::cuda
