#pragma once

// Sweeps: square shapes of many sizes, which otherwise are alike.

#include <string_view>
#include <vector>

#include "tools/shared/shape_options.h"

namespace tunedgemm::internal {

/// The sizes that "squares" means: 128 * i for i = 2 .. 32.
inline constexpr std::string_view kSquares = "256:4096:128";

/// Shapes with M = N = K for every size in the list ("256:4096:128", "1536,2176"; see
/// number_list.h) and the other fields as chosen; f16 unless types were chosen. Throws ShapeError,
/// std::invalid_argument.
std::vector<Shape> square_shapes(const ShapeChoice& choice, std::string_view sizes);

}  // namespace tunedgemm::internal
