#include "tools/shared/number_list.h"

#include <charconv>
#include <cmath>

#include "kernel_templates/base/text.h"
#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

std::int64_t parse_number(std::string_view text, std::string_view part, std::int64_t least) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least) {
    throw std::invalid_argument('"' + std::string(text) + "\" in \"" + std::string(part) +
                                "\" is not a whole number of at least " + std::to_string(least) +
                                "; expected something like 512 or 512,1024 or 128:4096:128");
  }
  return value;
}

}  // namespace

std::vector<std::int64_t> parse_number_list(std::string_view text, std::int64_t least) {
  std::vector<std::int64_t> numbers;
  for (const std::string_view part : split(text, ',')) {
    const auto bounds = split(part, ':');
    const std::int64_t first = parse_number(bounds[0], part, least);
    if (bounds.size() == 1) {
      numbers.push_back(first);
      continue;
    }
    if (bounds.size() != 3) {
      throw std::invalid_argument('"' + std::string(part) +
                                  "\" is not first:last:step, such as 128:4096:128");
    }
    const std::int64_t last = parse_number(bounds[1], part, least);
    const std::int64_t step = parse_number(bounds[2], part, 1);
    if (last < first) {
      throw std::invalid_argument('"' + std::string(part) +
                                  "\" ends before it begins; expected the least number first");
    }
    if (static_cast<std::uint64_t>((last - first) / step) >= kMostNumbers - numbers.size()) {
      throw std::invalid_argument('"' + std::string(part) + "\" in \"" + first_line(text, 60) +
                                  "\" makes more than a million numbers; give a larger step");
    }
    for (std::int64_t number = first; number <= last - step; number += step) {
      numbers.push_back(number);
    }
    numbers.push_back(first + (last - first) / step * step);
  }
  return numbers;
}

std::string why_not_finite(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number && std::isfinite(value) ? "" : '"' + text + "\" is not a number such as 2.5";
}

}  // namespace tunedgemm::internal
