#pragma once

// Lists of numbers on a command line: "512", "512,1024", "128:4096:128" (first:last:step, the last
// one included where a step meets it), and these joined by commas.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tunedgemm {

/// The numbers in the order in which they are written. Throws std::invalid_argument with a sentence
/// that names the part that is wrong; numbers below `least` are.
std::vector<std::int64_t> parse_number_list(std::string_view text, std::int64_t least);

}  // namespace tunedgemm
