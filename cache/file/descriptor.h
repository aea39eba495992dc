#pragma once

// Descriptor: an open file of this process. Private to cache.

#include <unistd.h>

#include <utility>

namespace tunedgemm::internal {

/// Closes the file when destroyed. Move-only; used by one thread at a time.
class Descriptor {
 public:
  Descriptor() = default;
  /// Takes over what open(2) gave; negative: none.
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) {
      close(number_);
    }
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }
  /// Leaves it open for ever.
  void keep_open() { number_ = -1; }

 private:
  int number_ = -1;
};

}  // namespace tunedgemm::internal
