#pragma once

// Input: reads the bytes of a libFuzzer input from the front; zeros follow the end.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tunedgemm::internal {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  bool empty() const { return size_ == 0; }

  /// Fills the object with bytes of the input.
  template <class Plain>
  void read(Plain& object) {
    const std::size_t bytes = std::min(size_, sizeof object);
    std::memset(static_cast<void*>(&object), 0, sizeof object);
    std::memcpy(static_cast<void*>(&object), data_, bytes);
    data_ += bytes;
    size_ -= bytes;
  }
  template <class Plain>
  Plain take() {
    Plain plain;
    read(plain);
    return plain;
  }
  /// A number from 0 to limit - 1.
  std::size_t below(std::size_t limit) { return take<std::uint8_t>() % limit; }

  std::string_view rest() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

/// Aborts if the condition is false, so that the fuzzer keeps the input.
inline void must_hold(bool holds) {
  if (!holds) {
    __builtin_trap();
  }
}

}  // namespace tunedgemm::internal
