#pragma once

// Memory: a block of the GPU's memory; and whether a pointer is to memory that a GPU can reach.

#include <string>

#include "runtime/cuda/context.h"
#include "runtime/cuda/driver.h"
#include "runtime/device.h"

namespace tunedgemm::internal::cuda {

/// The driver aligns every block to 256 bytes at least. The context must outlive it.
class Memory final : public DeviceMemory {
 public:
  /// Throws DeviceError(kOutOfMemory) with the bytes asked for and those that are free.
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

/// What the driver calls an address.
CUdeviceptr to_device_pointer(const void* pointer);
std::int64_t free_memory_bytes(const PrimaryContext& context);

/// Device::why_not_memory for the device, whose context must be current. Memory of the device,
/// managed memory, and host memory that is registered or was allocated by CUDA are fine, and so is
/// another device's that this one may access; where the device reads pageable memory, all is.
std::string why_not_reachable(const Driver& driver, CUdevice device, const void* pointer);

}  // namespace tunedgemm::internal::cuda
