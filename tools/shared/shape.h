#pragma once

// Shape: a problem as users write it in a list or on a command line. It consists of named fields,
// most of them optional. `shape_fields()` describes the fields.

#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

struct Shape {
  std::string name;       ///< from the list, or ""; see joined_names() if lines differ in it alone
  Problem problem;        ///< as written, not canonical
  std::string rung = {};  ///< of a ladder: "M=64"
};

/// "16x32x64", or "8 of 16x32x64" for a batch.
std::string extents_text(const Problem& problem);
/// The name, if there is one, with the rung; else the extents.
std::string shape_text(const Shape& shape);

struct Field {
  std::string name;
  std::string value;
};

struct FieldDescription {
  std::string_view name;
  std::string_view meaning;
};
/// Every field of a shape. In lists, the fields parallel and kv_heads tell how tensor parallelism
/// divides a layer; they do not change the shape.
std::vector<FieldDescription> shape_fields();

/// The field that a column header names, ignoring case; "dtype" means types, and "epilogue" means
/// activation. Empty if there is no such field.
std::string field_name(std::string_view header);

bool has_field(std::span<const Field> fields, std::string_view name);

/// A shape that is written as it should be, but which the library does not compute. Lists count
/// such lines by what() and go on.
class NotComputable : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// The shape that the fields describe. Throws std::invalid_argument with a message that names the
/// text found and the text expected, or NotComputable.
///
/// m, n, k and types are required. Examples of types are "f16", "e4m3xe5m2" and "f16->f32". The
/// output type defaults to the inputs' type, but to f16 for fp8 and to s32 for s8. "tf32" means f32
/// with numerics tf32, and "i8" means s8. Leading dimensions and batch strides default to packed.
Shape to_shape(std::span<const Field> fields);

/// Lists of shapes in files.
///
///   CSV One shape per line. The first line may be a header naming the fields; without a header
///         they are types, layout, m, n, k and optionally batch. Empty cells take the default.
///         Empty lines and lines that begin with # are skipped; a cell with a comma needs double
///         quotes. Lines of PyTorch's TunableOp (tunable_op.h) are shapes, too.
///   JSON  An array of objects whose members are the fields. The name of the file ends in .json.
///
/// What `tunedgemm export` writes as CSV or JSON is a list, too: fields about the winner are
/// ignored, and the field "problem" has the whole shape, which the other fields must not
/// contradict.
///
/// All functions throw std::invalid_argument, naming the file and the CSV line or JSON entry.
/// read_list() passes the fields of each line to `read`, and names the line if `read` throws. Lines
/// that are NotComputable are skipped, unless all are; read_list() tells on standard error how
/// many, and why.
using ReadFields = std::function<void(const std::vector<Field>& fields)>;
void read_list(const std::string& path, const ReadFields& read);
std::vector<Shape> parse_csv_shapes(std::string_view text);
std::vector<Shape> parse_json_shapes(std::string_view text);
std::vector<Shape> read_shape_list(const std::string& path);

}  // namespace tunedgemm::internal
