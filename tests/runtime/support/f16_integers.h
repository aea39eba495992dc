#pragma once

// Matrices of the f16 numbers -1, 0 and 1: sums of their products are small integers, and exact in
// any order.

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "kernel_templates/cuda/reference/element.cuh"
#include "kernel_templates/problem/data_type.h"

namespace tunedgemm::internal {

using F16Integers = std::vector<std::uint16_t>;

inline F16Integers random_f16_integers(std::size_t count, std::uint64_t seed) {
  constexpr std::array<std::uint16_t, 4> kValues{0xbc00, 0, 0x3c00, 0};
  std::mt19937_64 random(seed);
  F16Integers elements(count);
  std::uint64_t bits = 0;
  for (std::size_t index = 0; index < count; ++index, bits >>= 2) {
    bits = index % 32 == 0 ? random() : bits;
    elements[index] = kValues[bits % 4];
  }
  return elements;
}

/// -1, 0 or 1.
inline int integer_of(std::uint16_t element) {
  return element == 0xbc00 ? -1 : element == 0x3c00 ? 1 : 0;
}

/// Whether the element of a result has this value. NaN has none.
inline bool is_equal(const F16Integers& result, std::size_t index, int expected) {
  return reference::load(traits(DataType::kF16).format, result.data(),
                         static_cast<long long>(index)) == expected;
}

}  // namespace tunedgemm::internal
