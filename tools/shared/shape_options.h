#pragma once

// The fields of a shape as options of a command (--types, --layout, --batch, --activation, ...), and
// sweeps of square shapes that are alike otherwise.

#include <CLI/CLI.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "tools/shared/shape.h"

namespace tunedgemm::internal {

/// Adds an option for every field of a shape but those in `left_out`. What was given is appended to
/// `fields`, which must outlive the parsing.
void add_shape_options(CLI::App& app, std::span<const std::string_view> left_out,
                       std::vector<Field>& fields);

/// The one shape that "M N K" and its options describe.
struct ShapeChoice {
  std::vector<Field> fields;
};
enum class Extents { kRequired, kOptional };
/// Adds M, N and K as arguments and the other fields as options.
void add_shape_arguments(CLI::App& app, ShapeChoice& choice, Extents extents = Extents::kRequired);
/// f32 unless types were given. Throws ShapeError.
Shape to_shape(const ShapeChoice& choice);

/// The sizes that "squares" means: 128 * i for i = 2 .. 32.
inline constexpr std::string_view kSquares = "256:4096:128";

/// Shapes with M = N = K for every size in the list ("256:4096:128", "1536,2176"; see
/// number_list.h) and the other fields as chosen; f16 unless types were chosen. Throws ShapeError,
/// std::invalid_argument.
std::vector<Shape> square_shapes(const ShapeChoice& choice, std::string_view sizes);

}  // namespace tunedgemm::internal
