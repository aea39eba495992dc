#pragma once

// Lists of shapes in files.
//
//   CSV   One shape a line. The first line may be a header naming the fields (see shape_fields());
//         without one they are types, layout, m, n, k and, if it is there, batch. Empty cells are
//         as if they were left out. Empty lines and lines that begin with # are skipped; a cell
//         with a comma stands in double quotes.
//   JSON  An array of objects whose members are the fields.

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tools/shared/shape.h"

namespace tunedgemm::internal {

/// what() is "file:line:column: " and a sentence with the offending text and what was expected.
class ShapeListError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The shapes in the file's order: JSON if its name ends in .json, else CSV. Throws ShapeListError.
std::vector<Shape> read_shape_list(const std::filesystem::path& path);

/// Both throw ShapeError with the position in the text.
std::vector<Shape> parse_csv_shapes(std::string_view text);
std::vector<Shape> parse_json_shapes(std::string_view text);

}  // namespace tunedgemm::internal
