#pragma once

// NamedProblem: a problem with its name. Users write it as a shape: a line of a list, or options. A
// shape consists of named fields: those of problem_grammar.h, and those of lists.

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernel_templates/problem/problem_grammar.h"

namespace tunedgemm::internal {

struct NamedProblem {
  std::string name;       ///< from the list, or ""; see joined_names() if lines differ in it alone
  Problem problem;        ///< as written, not canonical
  std::string rung = {};  ///< of a ladder: "M=64"
};

/// "16x32x64", or "8 of 16x32x64" for a batch.
std::string extents_text(const Problem& problem);
/// The same with the layout, as tables show it: "64x512x256 nt".
std::string shape_text(const Problem& problem);
/// The name, if there is one, with the rung; else the extents.
std::string shape_text(const NamedProblem& shape);

struct FieldDescription {
  std::string_view name;
  std::string_view meaning;
  std::string_view expected = {};  ///< the values, in words; "" in lists alone
};
/// Every field of a shape. In lists, the fields parallel and kv_heads say how tensor parallelism
/// divides a layer; they do not change the shape.
std::vector<FieldDescription> shape_fields();

/// The field that a column header names, ignoring case; "dtype" means types, and "epilogue" means
/// activation. Empty if there is no such field.
std::string field_name(std::string_view header);

bool has_field(std::span<const Field> fields, std::string_view name);
/// "" if there is no such field.
std::string value_of(std::span<const Field> fields, std::string_view name);

/// A shape that is written as it should be, but which the library does not compute. Lists count
/// such lines by what() and go on.
class NotComputable : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// The problem that the fields of a shape describe; kRequiredFields must be among them. Throws
/// std::invalid_argument with a message that names the text found and the text expected, or
/// NotComputable.
NamedProblem to_named_problem(std::span<const Field> fields);

}  // namespace tunedgemm::internal
