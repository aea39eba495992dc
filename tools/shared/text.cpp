#include "tools/shared/text.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "kernel_templates/base/number_text.h"
#include "kernel_templates/base/text.h"
#include "tools/shared/colour.h"

namespace tunedgemm::internal {
namespace {

std::int64_t parse_number(std::string_view text, std::string_view part, std::int64_t least) {
  const std::optional<std::int64_t> value = whole_number<std::int64_t>(text);
  if (!value || *value < least) {
    throw std::invalid_argument('"' + std::string(text) + "\" in \"" + std::string(part) +
                                "\" is not a whole number of at least " + std::to_string(least) +
                                "; expected something like 512 or 512,1024 or 128:4096:128");
  }
  return *value;
}

std::optional<double> finite_number(const std::string& text) {
  const std::optional<double> value = whole_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

// Where the rest of a long line begins.
std::size_t indent_of(std::string_view line, std::size_t width) {
  const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t gap = line.find("  ", first);
  const std::size_t second = line.find_first_not_of(' ', gap);
  const bool has_second = gap != std::string_view::npos && second != std::string_view::npos;
  return has_second && 3 * second <= 2 * width ? second : first;
}

// The last space after which the text still has at most `width` characters before it; without one,
// the first space that follows.
std::size_t break_of(std::string_view line, std::size_t indent, std::size_t width) {
  std::size_t last = std::string_view::npos;
  for (std::size_t space = line.find(' ', indent); space != std::string_view::npos;
       space = line.find(' ', space + 1)) {
    if (display_width(line.substr(0, space)) > width && last != std::string_view::npos) {
      break;
    }
    last = space;
  }
  return last;
}

std::string wrapped_line(std::string line, std::size_t width) {
  const std::size_t indent = indent_of(line, width);
  std::string text;
  while (display_width(line) > width) {
    const std::size_t space = break_of(line, indent, width);
    if (space == std::string::npos) {
      break;
    }
    text += line.substr(0, line.find_last_not_of(' ', space) + 1) + '\n';
    line = std::string(indent, ' ') + line.substr(space + 1);
  }
  return text + line;
}

// The letters to change, add, remove or swap with their neighbour.
std::size_t changes_between(std::string_view from, std::string_view to) {
  std::vector<std::vector<std::size_t>> changes(from.size() + 1,
                                                std::vector<std::size_t>(to.size() + 1));
  for (std::size_t i = 0; i <= from.size(); ++i) {
    for (std::size_t j = 0; j <= to.size(); ++j) {
      if (i == 0 || j == 0) {
        changes[i][j] = i + j;
        continue;
      }
      const std::size_t changed = changes[i - 1][j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      changes[i][j] = std::min({changed, changes[i - 1][j] + 1, changes[i][j - 1] + 1});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
        changes[i][j] = std::min(changes[i][j], changes[i - 2][j - 2] + 1);
      }
    }
  }
  return changes[from.size()][to.size()];
}

}  // namespace

std::string rounded_text(double value) {
  if (!std::isfinite(value)) {
    return fixed(value, 0);
  }
  const int digits_before_point =
      value == 0 ? 1 : static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  return fixed(value, std::clamp(3 - digits_before_point, 0, 6));
}

std::string time_text(double us) {
  if (us < 1e3) {
    return rounded_text(us) + " us";
  }
  return us < 1e6 ? rounded_text(us / 1e3) + " ms" : rounded_text(us / 1e6) + " s";
}

std::string duration_text(double seconds) {
  constexpr double kLongest = 1e9;
  if (!(seconds < kLongest)) {
    return "over 30 years";
  }
  const long long whole = std::llround(seconds);
  if (whole < 60) {
    return std::to_string(whole) + " s";
  }
  const auto two_digits = [](long long value) {
    return (value < 10 ? "0" : "") + std::to_string(value);
  };
  if (whole < 3600) {
    return std::to_string(whole / 60) + " min " + two_digits(whole % 60) + " s";
  }
  return std::to_string(whole / 3600) + " h " + two_digits(whole % 3600 / 60) + " min";
}

std::string speedup_text(double slower_us, double faster_us) {
  return slower_us > 0 && faster_us > 0 ? fixed(slower_us / faster_us, 2) + "x" : "-";
}

std::string spread_text(const Measurement& measurement) {
  return measurement.samples_us.size() < 2 ? "-" : spread_text(relative_spread(measurement));
}

Interval interval_of(const Measurement& measurement) {
  return median_interval({measurement.samples_us.begin(), measurement.samples_us.end()});
}

std::string interval_text(const Measurement& measurement) {
  const Interval interval = interval_of(measurement);
  return std::isfinite(interval.low) ? time_text(interval.low) + " to " + time_text(interval.high)
                                     : "-";
}

std::string spread_text(double relative) {
  return "±" + fixed(100 * relative, 1) + " %";
}

std::string gflops_text(double flops, double us) {
  return us > 0 ? rounded_text(flops / us / 1e3) : "-";
}

std::string kernel_text(const Record& record) {
  std::string tile;
  // The blocks of the host's kernels hardly differ, but their register tiles do.
  const bool has_register_tile = record.device.backend == "host" && record.config.find("tile_m");
  for (const char* knob : has_register_tile
                              ? std::vector{"tile_m", "tile_n", "split_m", "split_n"}
                              : std::vector{"block_m", "block_n", "block_k", "tile"}) {
    if (const std::optional<int> value = record.config.find(knob)) {
      tile += (tile.empty() ? " " : "x") + std::to_string(*value);
    }
  }
  return record.family + tile;
}

std::string device_text(const DeviceIdentity& device) {
  return device.name + " (" + std::to_string(device.units) + " units, " +
         std::to_string(device.memory_bytes >> 30) + " GiB, L2 of " +
         std::to_string(device.l2_bytes >> 10) + " KiB, " + std::to_string(device.clock_mhz) +
         " MHz, " + std::to_string(device.power_limit_watts) + " W)";
}

bool is_named(const DeviceIdentity& device, std::string_view text) {
  return device.backend == text || device.name.find(text) != std::string::npos;
}

std::string_view status_text(const TrialRecord& trial) {
  if (trial.rejection) {
    return "rejected";
  }
  return trial.final_round ? "finalist" : "screened";
}

std::string compiler_text(std::string_view compiler) {
  compiler = compiler.substr(0, compiler.find(" for "));
  const std::size_t space = compiler.find(' ');
  if (space == compiler.npos || compiler.find('-', space) == compiler.npos) {
    return std::string(compiler);  // "none", "nvrtc 13.0"
  }
  std::string_view program = compiler.substr(0, space);
  for (const std::string_view known : {"clang++", "clang", "g++", "c++", "icpx"}) {
    if (const std::size_t at = program.rfind(known); at != program.npos) {
      program.remove_prefix(at);  // the target's name
      const std::string_view version = program.substr(known.size());
      return std::string(known) +
             (version.starts_with('-') ? " " + std::string(version.substr(1)) : "");
    }
  }
  return std::string(program);
}

std::string escaped_html(std::string_view text) {
  std::string escaped;
  for (const char character : text) {
    switch (character) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += character;
    }
  }
  return escaped;
}

std::string first_line(std::string_view text, std::size_t width) {
  const std::string_view line = text.substr(0, text.find('\n'));
  if (line.size() == text.size() && line.size() <= width) {
    return std::string(line);
  }
  std::size_t end = std::min(width, line.size());
  while (end > 0 && end < line.size() && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) {
    --end;  // do not cut a UTF-8 character
  }
  return std::string(line.substr(0, end)) + "...";
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const std::size_t sequence = sequence_bytes(text);
    if (sequence == 0 && (static_cast<unsigned char>(text.front()) & 0xc0) != 0x80) {
      ++width;  // not a continuation byte
    }
    text.remove_prefix(std::max<std::size_t>(sequence, 1));
  }
  return width;
}

std::string shortened(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) {
    return std::string(text);
  }
  // Remove characters of UTF-8 from the end, the last with all of its bytes.
  while (display_width(text) >= width) {
    text.remove_suffix(1);
  }
  while (!text.empty() && text.back() == ' ') {
    text.remove_suffix(1);
  }
  return std::string(text) + "…";
}

std::string wrapped(std::string_view text, std::size_t width) {
  std::string result;
  for (const std::string_view line : split(text, '\n')) {
    result += (result.empty() ? "" : "\n") + wrapped_line(std::string(line), width);
  }
  return result;
}

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
                                  "\" ends before it begins; expected the smaller number first");
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
  return finite_number(text) ? "" : '"' + text + "\" is not a number such as 2.5";
}

std::string why_not_positive(const std::string& text) {
  const std::optional<double> value = finite_number(text);
  return value && *value > 0 ? "" : '"' + text + "\" is not a positive number";
}

std::string why_negative(const std::string& text) {
  const std::optional<double> value = finite_number(text);
  return value && *value >= 0 ? "" : '"' + text + "\" is neither 0 nor a positive number";
}

std::string nearest_name(std::string_view text, std::span<const std::string> names) {
  std::string nearest;
  std::size_t fewest = text.size() / 3 + 1;  // one letter in three may be wrong
  for (const std::string& name : names) {
    if (const std::size_t changes = changes_between(text, name); changes < fewest) {
      fewest = changes;
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace tunedgemm::internal
