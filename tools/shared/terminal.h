#pragma once

// The width of the lines that a program prints.

#include <cstddef>

namespace tunedgemm::internal {

inline constexpr std::size_t kUsualWidth = 80;

/// The number of characters that fit in a line of the terminal that the file descriptor is open on.
/// If it is no terminal, or does not tell its width: $COLUMNS, else kUsualWidth.
std::size_t line_width(int descriptor);

}  // namespace tunedgemm::internal
