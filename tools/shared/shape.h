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
/// The name where there is one, on one line and printable; else the extents.
std::string shape_text(const Shape& shape);

/// Where something stands in a file, from 1; line 0: not in a file.
struct Position {
  int line = 0, column = 0;
};

struct Field {
  std::string name;
  std::string value;
  Position at;
};

/// A field or a shape that cannot be understood: what() names the text and what was expected.
class ShapeError : public std::runtime_error {
 public:
  ShapeError(Position at, const std::string& what) : std::runtime_error(what), at_(at) {}
  Position at() const { return at_; }

 private:
  Position at_;
};

struct FieldDescription {
  std::string_view name;
  std::string_view meaning;
};
/// Every field of a shape, in the order in which lists without a header have them.
std::vector<FieldDescription> shape_fields();

/// The field that a header means: in any case, and "dtype" for types, "epilogue" for activation.
/// Empty if there is none.
std::string field_name(std::string_view header);

/// The shape that the fields describe; `at` is where it begins. Throws ShapeError.
///
/// m, n, k and types must be there. types is "f16", "e4m3xe5m2" or "f16->f32"; without an output
/// type it is that of the inputs, f16 for fp8 and s32 for s8; "tf32" is f32 with numerics tf32 and
/// "i8" is s8. Leading dimensions and batch strides that are left out are packed.
Shape to_shape(std::span<const Field> fields, Position at);

}  // namespace tunedgemm::internal
