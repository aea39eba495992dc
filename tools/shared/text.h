#pragma once

// The formats of numbers and texts that all tools share, so that their tables can be compared; and
// the parser for lists of numbers on the command line.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cache/record.h"
#include "kernel_templates/base/text.h"  // counted()
#include "tuner/statistics.h"

namespace tunedgemm::internal {

/// Three significant digits with a suitable unit: "12.3 us", "4.56 ms", "7.89 s".
std::string time_text(double us);
/// For progress displays: "48 s", "3 min 20 s", "2 h 05 min".
std::string duration_text(double seconds);
/// Three significant digits, but all digits before the point: "0.123", "45.6", "7891".
std::string rounded_text(double value);
/// "2.31x", or "-" if one of the times is unknown (0).
std::string speedup_text(double slower_us, double faster_us);
/// The relative_spread of the samples, such as "±0.4 %"; "-" for fewer than two samples.
std::string spread_text(const Measurement& measurement);
/// The 95 % interval of the median: "12.2 us to 12.4 us"; "-" for fewer than 6 samples.
std::string interval_text(const Measurement& measurement);
/// Unbounded for fewer than 6 samples.
Interval interval_of(const Measurement& measurement);
/// A relative spread of 0.004 as "±0.4 %".
std::string spread_text(double relative);
/// Giga-operations per second, as rounded_text; "-" if there is no time.
std::string gflops_text(double flops, double us);
/// The family and the tile of a record's config: "wgmma 128x256x64"; on the host the register tile
/// and the division among threads: "blocked 16x1x2x1".
std::string kernel_text(const Record& record);
/// The name and the other properties that distinguish devices.
std::string device_text(const DeviceIdentity& device);
/// Whether the text is the device's backend or a part of its name; "" names every device.
bool is_named(const DeviceIdentity& device, std::string_view text);
/// "finalist", "screened" or "rejected".
std::string_view status_text(const TrialRecord& trial);
/// The compiler of a Toolchain for people, without the features of its CPU: "nvrtc 13.0", or on the
/// host the program's name and the version that the name has: "g++ 12" for
/// "x86_64-linux-gnu-g++-12 1305592-1744025177 for avx2".
std::string compiler_text(std::string_view compiler);
/// The text for an HTML element or an attribute in double quotes.
std::string escaped_html(std::string_view text);
/// The first line of a text, at most `width` bytes of it, and "..." if the text was cut.
std::string first_line(std::string_view text, std::size_t width);

/// The number of characters of a UTF-8 text, all of which must be one column wide; the control
/// sequences of coloured() have no width.
std::size_t display_width(std::string_view text);
/// The text, or as many of its characters as fit in `width` with "…" behind them. Precondition:
/// width > 0.
std::string shortened(std::string_view text, std::size_t width);
/// The text with every line that is longer than `width` characters broken at spaces. The rest of a
/// line is indented as its second column, which two spaces or more separate from the first, or as
/// the line if no second column begins in the first two thirds of the width. A word that is longer
/// than a line stays whole.
std::string wrapped(std::string_view text, std::size_t width);

/// More numbers in a list must be a typing error.
inline constexpr std::size_t kMostNumbers = 1'000'000;
/// Parses numbers and ranges, separated by commas, such as "512,1024" or "128:4096:128". A range is
/// first:last:step and includes last if a step reaches it. Throws std::invalid_argument with a
/// message that names the wrong part: not a number, a number below `least`, or a range that exceeds
/// kMostNumbers.
std::vector<std::int64_t> parse_number_list(std::string_view text, std::int64_t least);

/// For options: empty if the text is a finite number, of the named sign, else an error message.
std::string why_not_finite(const std::string& text);
std::string why_not_positive(const std::string& text);
std::string why_negative(const std::string& text);

/// The name that the user may have meant: the one that the fewest changed, added, removed or
/// swapped letters turn `text` into, if they are few; else "".
std::string nearest_name(std::string_view text, std::span<const std::string> names);

}  // namespace tunedgemm::internal
