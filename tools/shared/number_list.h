#pragma once

// Lists of numbers on a command line: "512", "512,1024", "128:4096:128" (first:last:step, the last
// one included where a step meets it), and these joined by commas.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tunedgemm::internal {

/// More is a slip of the pen.
inline constexpr std::size_t kMostNumbers = 1'000'000;

/// The numbers in the order in which they are written. Throws std::invalid_argument with a sentence
/// that names the part that is wrong; numbers below `least` are, and ranges with which there are
/// more than kMostNumbers.
std::vector<std::int64_t> parse_number_list(std::string_view text, std::int64_t least);

/// For options: empty if the text is a number, neither infinite nor NaN; else a sentence.
std::string why_not_finite(const std::string& text);

}  // namespace tunedgemm::internal
