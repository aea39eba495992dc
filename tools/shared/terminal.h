#pragma once

// The width of the lines that a program prints.

#include <cstddef>
#include <limits>

namespace tunedgemm::internal {

inline constexpr std::size_t kUsualWidth = 80;

/// The number of characters that fit in a line of the terminal that the file descriptor is open on.
/// If it is no terminal, or its width is unknown: $COLUMNS, else kUsualWidth.
std::size_t line_width(int descriptor);

inline constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();
/// The width at which sentences are wrapped: line_width() on a terminal, else kUnlimited, since
/// programs search files and pipes for whole sentences.
std::size_t sentence_width(int descriptor);

}  // namespace tunedgemm::internal
