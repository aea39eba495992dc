#include "runtime/cuda/memory.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>

#include "runtime/cuda/driver.h"

namespace tunedgemm::internal::cuda {

Memory::Memory(const PrimaryContext& context, std::int64_t bytes)
    : context_(context), bytes_(bytes) {
  const Active active(context_);
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  TUNEDGEMM_CHECK(context_.driver(), cuMemAlloc(&address_, size),
                  std::to_string(bytes) + " bytes of device memory (" +
                      std::to_string(free_memory_bytes(context_)) + " are free)");
}

Memory::~Memory() {
  if (context_.gave_up()) {
    return;
  }
  const ActiveIfPossible active(context_);
  context_.driver().cuMemFree(address_);
}

void* Memory::data() const {
  return std::bit_cast<void*>(address_);
}

CUdeviceptr to_device_pointer(const void* pointer) {
  return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(pointer));
}

std::int64_t free_memory_bytes(const PrimaryContext& context) {
  const Active active(context);
  std::size_t free = 0;
  std::size_t total = 0;
  context.driver().cuMemGetInfo(&free, &total);
  return static_cast<std::int64_t>(free);
}

namespace {

// According to the manual, all attributes of a pointer unknown to CUDA are 0. The device pointer is
// also 0 if kernels of the current context cannot access the memory.
struct PointerAttributes {
  unsigned memory_type = 0;
  CUdeviceptr device_pointer = 0;
  unsigned is_managed = 0;
  int ordinal = 0;
};

CUresult read_attributes(const Driver& driver, const void* pointer, PointerAttributes& read) {
  const std::array<CUpointer_attribute, 4> attributes{
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
      CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  std::array<void*, 4> values{&read.memory_type, &read.device_pointer, &read.is_managed,
                              &read.ordinal};
  return driver.cuPointerGetAttributes(static_cast<unsigned>(attributes.size()), attributes.data(),
                                       values.data(), to_device_pointer(pointer));
}

bool reads_pageable_memory(const Driver& driver, CUdevice device) {
  int value = 0;
  return driver.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, device) ==
             CUDA_SUCCESS &&
         value != 0;
}

}  // namespace

std::string why_not_reachable(const Driver& driver, CUdevice device, const void* pointer) {
  PointerAttributes memory;
  if (read_attributes(driver, pointer, memory) != CUDA_SUCCESS) {
    return "";
  }
  const std::string name = "cuda:" + std::to_string(device);
  if (memory.memory_type == 0) {
    return reads_pageable_memory(driver, device)
               ? ""
               : "is host memory, which " + name +
                     " cannot read; copy it to device memory (cudaMalloc, cudaMemcpy), "
                     "register it (cudaHostRegister), or use a context with the backend host";
  }
  if (memory.device_pointer != 0 || memory.is_managed != 0 || memory.ordinal == device) {
    return "";
  }
  return "is memory of cuda:" + std::to_string(memory.ordinal) + ", which " + name +
         " cannot access; enable peer access (cudaDeviceEnablePeerAccess), or use a context of "
         "the device where the memory is";
}

}  // namespace tunedgemm::internal::cuda
