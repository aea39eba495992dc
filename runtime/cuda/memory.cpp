#include "runtime/cuda/memory.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "runtime/cuda/check.h"

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
  if (context_.driver().gave_up()) {
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

}  // namespace tunedgemm::internal::cuda
