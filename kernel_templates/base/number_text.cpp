#include "kernel_templates/base/number_text.h"

#include <array>
#include <charconv>
#include <limits>

namespace tunedgemm::internal {

std::string fixed(double value, int decimals) {
  // A sign, the digits of the largest number, the point, and the decimals.
  std::string text(
      static_cast<std::size_t>(std::numeric_limits<double>::max_exponent10 + 3 + decimals), '\0');
  const std::to_chars_result result = std::to_chars(text.data(), text.data() + text.size(), value,
                                                    std::chars_format::fixed, decimals);
  text.resize(static_cast<std::size_t>(result.ptr - text.data()));
  return text;
}

std::string four_digits(double value) {
  std::array<char, 16> text{};
  const std::to_chars_result result =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 4);
  return {text.data(), result.ptr};
}

}  // namespace tunedgemm::internal
