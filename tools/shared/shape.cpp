#include "tools/shared/shape.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "kernel_templates/base/text.h"
#include "tools/shared/shape_draft.h"

namespace tunedgemm::internal {
namespace {

std::string quoted(std::string_view text) {
  return '"' + printable(text, Lines::kOne) + '"';
}

// Gives the matrix what the draft says of it, and what follows from that.
void place(Matrix& matrix, std::int64_t rows, std::int64_t columns, std::size_t index,
           const ShapeDraft& draft) {
  const bool row_major = matrix.order == Order::kRowMajor;
  const std::int64_t packed = std::max<std::int64_t>(1, row_major ? columns : rows);
  matrix.leading_dimension = draft.leading_dimensions[index].value_or(packed);
  std::int64_t entry = 0;
  if (draft.problem.batch > 1 &&
      __builtin_mul_overflow(matrix.leading_dimension, row_major ? rows : columns, &entry)) {
    entry = std::numeric_limits<std::int64_t>::max();  // why_not refuses it
  }
  matrix.batch_stride = draft.batch_strides[index].value_or(entry);
  matrix.alignment_bytes = alignment_class(0, matrix, draft.problem.batch);
}

Problem to_problem(const ShapeDraft& draft) {
  const DataType output = draft.d.value_or(traits(*draft.a).output);
  Problem problem = draft.problem;
  const Problem packed =
      make_problem(problem.m, problem.n, problem.k, *draft.a, *draft.b, output, draft.layout);
  problem.a = packed.a;
  problem.b = packed.b;
  problem.c = packed.c;
  problem.d = packed.d;
  problem.c.order = draft.order_c;
  problem.d.order = draft.order_d;
  problem.numerics = draft.numerics.value_or(packed.numerics);
  place(problem.a, problem.m, problem.k, 0, draft);
  place(problem.b, problem.k, problem.n, 1, draft);
  place(problem.c, problem.m, problem.n, 2, draft);
  place(problem.d, problem.m, problem.n, 3, draft);
  return problem;
}

const FieldRule* find_rule(std::string_view name) {
  const auto rules = field_rules();
  const auto rule = std::find_if(rules.begin(), rules.end(), [&](const FieldRule& candidate) {
    return candidate.description.name == name;
  });
  return rule == rules.end() ? nullptr : &*rule;
}

}  // namespace

std::string extents_text(const Problem& problem) {
  std::string text =
      std::to_string(problem.m) + "x" + std::to_string(problem.n) + "x" + std::to_string(problem.k);
  return problem.batch > 1 ? std::to_string(problem.batch) + " of " + text : text;
}

std::string shape_text(const Shape& shape) {
  return shape.name.empty() ? extents_text(shape.problem) : printable(shape.name, Lines::kOne);
}

std::vector<FieldDescription> shape_fields() {
  std::vector<FieldDescription> fields;
  for (const FieldRule& rule : field_rules()) {
    fields.push_back(rule.description);
  }
  return fields;
}

std::string field_name(std::string_view header) {
  std::string name(header);
  std::transform(name.begin(), name.end(), name.begin(), [](char letter) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  });
  if (name == "dtype" || name == "type") {
    return "types";
  }
  if (name == "epilogue") {
    return "activation";
  }
  return find_rule(name) != nullptr ? name : "";
}

Shape to_shape(std::span<const Field> fields, Position at) {
  ShapeDraft draft;
  for (const Field& field : fields) {
    const FieldRule* rule = find_rule(field.name);
    if (rule == nullptr) {
      throw ShapeError(field.at, quoted(field.name) + " is not a field of a shape");
    }
    if (const std::string expected = rule->read(field.value, draft); !expected.empty()) {
      throw ShapeError(field.at, printable(field.name, Lines::kOne) + " is " + quoted(field.value) +
                                     "; expected " + expected);
    }
  }
  const auto is_given = [&](std::string_view name) {
    return std::any_of(fields.begin(), fields.end(),
                       [&](const Field& field) { return field.name == name; });
  };
  for (const char* name : {"types", "m", "n", "k"}) {
    if (!is_given(name)) {
      throw ShapeError(
          at, "the shape has no " + std::string(name) + "; expected at least types, m, n and k");
    }
  }
  if (is_given("numerics")) {
    draft.numerics = draft.problem.numerics;
  }
  try {
    const Problem problem = to_problem(draft);
    if (const std::string reason = why_not(problem); !reason.empty()) {
      throw ShapeError(at, reason);
    }
    return {draft.name, problem};
  } catch (const std::invalid_argument& error) {
    throw ShapeError(at, error.what());
  }
}

}  // namespace tunedgemm::internal
