#include "runtime/host/scratch_memory.h"

#include <sys/mman.h>

#include <algorithm>

namespace tunedgemm::internal {
namespace {

constexpr std::int64_t kHugePage = 2 << 20;

void* map(std::size_t bytes) noexcept {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

ScratchMemory::~ScratchMemory() {
  if (data_ != nullptr) {
    munmap(data_, static_cast<std::size_t>(bytes_));
  }
}

bool ScratchMemory::reserve(std::int64_t bytes) noexcept {
  if (bytes <= bytes_) {
    return true;
  }
  // Doubling keeps a series of growing requests from mapping again and again.
  const std::int64_t rounded =
      (std::max(bytes, 2 * bytes_) + kHugePage - 1) / kHugePage * kHugePage;
  std::int64_t size = rounded;
  void* larger = map(static_cast<std::size_t>(size));
  if (larger == nullptr) {
    size = bytes;
    larger = map(static_cast<std::size_t>(size));
  }
  if (larger == nullptr) {
    return false;
  }
  // Packed blocks are read from end to end: few large pages spare the address translation. Advice
  // only, so a refusal changes nothing.
  madvise(larger, static_cast<std::size_t>(size), MADV_HUGEPAGE);
  if (data_ != nullptr) {
    munmap(data_, static_cast<std::size_t>(bytes_));
  }
  data_ = larger;
  bytes_ = size;
  return true;
}

}  // namespace tunedgemm::internal
