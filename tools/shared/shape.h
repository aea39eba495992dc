#pragma once

// Shape: a problem as people write it down, in a list or on a command line: fields with names, most
// of them left out. `shape_fields()` is the one description of those fields.

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

struct Shape {
  std::string name;  ///< "" or what the list calls it
  Problem problem;   ///< as written, not canonical
};

/// "m x n x k", with the batch where there is one.
std::string extents_text(const Problem& problem);
/// The name where there is one, else the extents.
std::string shape_text(const Shape& shape);

struct Field {
  std::string name;
  std::string value;
};

struct FieldDescription {
  std::string_view name;
  std::string_view meaning;
};
/// Every field of a shape.
std::vector<FieldDescription> shape_fields();

/// The field that a header means: in any case, and "dtype" for types, "epilogue" for activation.
/// Empty if there is none.
std::string field_name(std::string_view header);

bool has_field(std::span<const Field> fields, std::string_view name);

/// The shape that the fields describe. Throws std::invalid_argument with a sentence that names the
/// text and what was expected.
///
/// m, n, k and types must be there. types is "f16", "e4m3xe5m2" or "f16->f32"; without an output
/// type it is that of the inputs, f16 for fp8 and s32 for s8; "tf32" is f32 with numerics tf32 and
/// "i8" is s8. Leading dimensions and batch strides that are left out are packed.
Shape to_shape(std::span<const Field> fields);

/// Lists of shapes in files.
///
///   CSV   One shape a line. The first line may be a header naming the fields; without one they are
///         types, layout, m, n, k and, if it is there, batch. Empty cells are as if they were left
///         out. Empty lines and lines that begin with # are skipped; a cell with a comma stands in
///         double quotes.
///   JSON  An array of objects whose members are the fields.
///
/// All throw std::invalid_argument, with the file's name, and the CSV's line or the JSON's entry.
std::vector<Shape> parse_csv_shapes(std::string_view text);
std::vector<Shape> parse_json_shapes(std::string_view text);
/// JSON if the path ends in .json, else CSV.
std::vector<Shape> read_shape_list(const std::string& path);

}  // namespace tunedgemm::internal
