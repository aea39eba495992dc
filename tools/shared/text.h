#pragma once

// How numbers and texts look in the tools' output, everywhere the same, so that tables can be
// compared; and the lists of numbers on their command lines.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cache/record.h"

namespace tunedgemm::internal {

/// Three significant digits with a fitting unit: "12.3 us", "4.56 ms", "7.89 s".
std::string time_text(double us);
/// For waiting people: "48 s", "3 min 20 s", "2 h 05 min".
std::string duration_text(double seconds);
/// Three significant digits: "0.123", "45.6", "7890".
std::string rounded_text(double value);
/// "2.31x", or "-" where one of the times is not known (0).
std::string speedup_text(double slower_us, double faster_us);
/// How far samples scatter (relative_spread): "±0.4 %"; "-" for a lone one, which cannot tell.
std::string spread_text(const Measurement& measurement);
std::string spread_text(double relative);
/// Giga-operations a second, as rounded_text; "-" for no time.
std::string gflops_text(double flops, double us);
/// "1 shape", "2 shapes".
std::string counted(std::size_t count, std::string_view noun);
/// The first line of a text, at most `width` characters of it, with "..." where something was left
/// out.
std::string first_line(std::string_view text, std::size_t width);

/// More numbers are a slip of the pen.
inline constexpr std::size_t kMostNumbers = 1'000'000;
/// "512", "512,1024", "128:4096:128" (first:last:step, the last one included where a step meets it),
/// and these joined by commas; in the order in which they are written. Throws std::invalid_argument
/// with a sentence that names the part that is wrong; numbers below `least` are, and ranges with
/// which there are more than kMostNumbers.
std::vector<std::int64_t> parse_number_list(std::string_view text, std::int64_t least);

/// For options: empty if the text is a number, neither infinite nor NaN; else a sentence.
std::string why_not_finite(const std::string& text);

}  // namespace tunedgemm::internal
