#pragma once

// Memory from the kernel itself, page by page: the scratch of a thread, and a page that tells a
// parent process from its children.

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

/// Knows whether it was made by this process or by one that this process was forked from.
/// Thread-safe.
class ForkDetector {
 public:
  ForkDetector() noexcept;
  ~ForkDetector();
  ForkDetector(const ForkDetector&) = delete;
  ForkDetector& operator=(const ForkDetector&) = delete;

  /// Always false where the operating system cannot wipe a page on fork.
  bool is_child() const noexcept;

 private:
  int* alive_ = nullptr;  // alone on a page that a child sees as zeros
};

}  // namespace tunedgemm::internal
