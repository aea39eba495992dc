#pragma once

// Divisions that round up. The dividend is at least 0, and the divisor is positive.

#include <cstdint>

namespace tunedgemm::internal {

constexpr std::int64_t ceil_divide(std::int64_t dividend, std::int64_t divisor) {
  return dividend / divisor + (dividend % divisor != 0 ? 1 : 0);
}
constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return ceil_divide(value, multiple) * multiple;
}

}  // namespace tunedgemm::internal
