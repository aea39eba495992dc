#pragma once

// Memory from the kernel itself, page by page: the scratch of a thread.

#include <cstdint>

namespace tunedgemm::internal {

/// A block that grows and never shrinks. Its pages become real when they are first touched, so
/// asking for much costs little. Used by one thread at a time.
class ScratchMemory {
 public:
  ScratchMemory() = default;
  ~ScratchMemory();
  ScratchMemory(const ScratchMemory&) = delete;
  ScratchMemory& operator=(const ScratchMemory&) = delete;

  /// At least so many bytes, whose contents are then arbitrary. False, with everything as before,
  /// if there is no memory.
  bool reserve(std::int64_t bytes) noexcept;

  /// Page-aligned; null before the first reserve of more than 0 bytes.
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace tunedgemm::internal
