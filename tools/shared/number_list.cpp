#include "tools/shared/number_list.h"

#include <charconv>

#include "kernel_templates/problem/fields.h"

namespace tunedgemm {
namespace {

constexpr std::size_t kMostNumbers = 1'000'000;  // more is a slip of the pen

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
    if (static_cast<std::uint64_t>((last - first) / step) >= kMostNumbers) {
      throw std::invalid_argument('"' + std::string(part) + "\" means more than a million numbers");
    }
    for (std::int64_t number = first; number <= last - step; number += step) {
      numbers.push_back(number);
    }
    numbers.push_back(first + (last - first) / step * step);
  }
  return numbers;
}

}  // namespace tunedgemm
