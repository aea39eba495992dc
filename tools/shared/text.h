#pragma once

// How numbers and texts look in the tools' output. Everywhere the same, so that tables can be
// compared.

#include <cstddef>
#include <string>
#include <string_view>

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
/// A cell of a CSV file, as RFC 4180 has it: in quotes where it must be, and quotes inside doubled.
std::string csv_cell(std::string_view text);

}  // namespace tunedgemm::internal
