#include "tools/shared/shape.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "kernel_templates/base/text.h"
#include "kernel_templates/problem/problem_fields.h"

namespace tunedgemm::internal {
namespace {

// The fields of a shape read so far. Missing fields keep these defaults.
struct ShapeDraft {
  std::string name;
  std::optional<DataType> a, b, d;
  std::optional<Numerics> numerics;  // from the type "tf32"
  std::string layout = "nn";
  Order order_c = Order::kRowMajor, order_d = Order::kRowMajor;
  std::array<std::optional<std::int64_t>, 4> leading_dimensions, batch_strides;
  Problem problem;               // the extents, and the fields read by problem_fields()
  std::optional<Problem> whole;  // from the field "problem"
};

struct FieldRule {
  FieldDescription description;
  // Like all readers below, returns "" or a description of the expected text.
  std::function<std::string(std::string_view text, ShapeDraft& draft)> read;
};

std::string read_whole(std::string_view text, std::int64_t least, std::int64_t& value) {
  const std::optional<std::int64_t> number = whole_number<std::int64_t>(text);
  value = number.value_or(value);
  return number && value >= least
             ? ""
             : "a whole number, at least " + std::to_string(least) + " and below 2^63";
}

std::string read_order(std::string_view text, Order& order) {
  const std::optional<Order> parsed = parse_order(text);
  order = parsed.value_or(order);
  return parsed ? "" : "row or col";
}

// Returns the part before the separator and leaves the rest in `text`.
std::optional<std::string_view> cut(std::string_view& text, std::string_view separator) {
  const std::size_t at = text.find(separator);
  if (at == text.npos) {
    return std::nullopt;
  }
  const std::string_view before = text.substr(0, at);
  text.remove_prefix(at + separator.size());
  return before;
}

std::optional<DataType> read_type(std::string_view text, ShapeDraft& draft) {
  if (text == "tf32") {
    draft.numerics = draft.numerics.value_or(Numerics::kTf32);
    return DataType::kF32;
  }
  return text == "i8" ? DataType::kS8 : parse_data_type(text);
}

// Reads "f16", "e4m3xe5m2" or "f16->f32", also with the library's own signs, "×" and "→".
std::string read_types(std::string_view text, ShapeDraft& draft) {
  constexpr NameList kInputs =
      name_list(kDataTypes, ", ", [](const DataTypeTraits& row) { return row.outputs != 0; });
  std::string expected = std::string(kInputs.text()) + " or tf32, or in full \"e4m3xe5m2->bf16\"";
  std::string_view output = text;
  std::optional<std::string_view> inputs = cut(output, "->");
  if (!inputs) {
    inputs = cut(output, "→");
  }
  if (inputs) {
    draft.d = parse_data_type(output);
    if (!draft.d) {
      return expected;
    }
  }
  std::string_view second = inputs.value_or(text);
  std::optional<std::string_view> first = cut(second, "x");
  if (!first) {
    first = cut(second, "×");
  }
  draft.a = read_type(first.value_or(second), draft);
  draft.b = read_type(second, draft);
  return draft.a && draft.b ? "" : expected;
}

std::string read_layout(std::string_view text, ShapeDraft& draft) {
  draft.layout = text;
  return text.size() == 2 && text.find_first_not_of("nt") == text.npos ? "" : "nn, nt, tn or tt";
}

constexpr bool is_output(const DataTypeTraits& row) {
  return std::any_of(std::begin(kDataTypes), std::end(kDataTypes),
                     [&](const auto& input) { return (input.outputs & types({row.type})) != 0; });
}

std::string read_output(std::string_view text, ShapeDraft& draft) {
  constexpr NameList kOutputs = name_list(kDataTypes, " or ", is_output);
  draft.d = parse_data_type(text);
  return draft.d ? "" : std::string(kOutputs.text());
}

// In the order A, B, C, D.
constexpr std::array<FieldDescription, 4> kLeadingDimensions{{
    {"lda", "leading dimension of A in elements; default packed"},
    {"ldb", "leading dimension of B"},
    {"ldc", "leading dimension of C"},
    {"ldd", "leading dimension of D"},
}};
constexpr std::array<FieldDescription, 4> kBatchStrides{{
    {"batch_stride_a", "elements from one A to the next; default packed, 0: one A for the batch"},
    {"batch_stride_b", "elements from one B to the next"},
    {"batch_stride_c", "elements from one C to the next"},
    {"batch_stride_d", "elements from one D to the next"},
}};

// First the fields that only shapes or lists have, or that shapes write in another form. Then the
// fields of problem_fields() that shapes share.
std::vector<FieldRule> make_rules() {
  using Text = std::string_view;
  std::vector<FieldRule> rules{
      {{"types", "element types: f16, tf32, e4m3xe5m2->bf16, ..."}, read_types},
      {{"layout", "nn, nt, tn, tt: A and B row-major (n) or transposed (t); default nn"},
       read_layout},
      {{"m", "rows of D"},
       [](Text text, ShapeDraft& draft) { return read_whole(text, 1, draft.problem.m); }},
      {{"n", "columns of D"},
       [](Text text, ShapeDraft& draft) { return read_whole(text, 1, draft.problem.n); }},
      {{"k", "columns of A"},
       [](Text text, ShapeDraft& draft) { return read_whole(text, 0, draft.problem.k); }},
      {{"batch", "number of matrices in the batch; default 1"},
       [](Text text, ShapeDraft& draft) { return read_whole(text, 1, draft.problem.batch); }},
      {{"name", "name of the shape in tables"},
       [](Text text, ShapeDraft& draft) {
         draft.name = text;
         return std::string();
       }},
      {{"parallel", "extent that tensor parallelism divides: column (N), row (K) or none"},
       [](Text text, ShapeDraft& /*draft*/) {
         const bool is_known = text == "column" || text == "row" || text == "none";
         return std::string(is_known ? "" : "column, row or none");
       }},
      {{"kv_heads", "key-value heads in N, which tensor parallelism does not split"},
       [](Text text, ShapeDraft& /*draft*/) {
         std::int64_t heads = 0;
         return read_whole(text, 1, heads);
       }},
      {{"problem", "the whole problem, as tunedgemm export writes it"},
       [](Text text, ShapeDraft& draft) {
         draft.whole = parse_problem(text);
         return std::string(draft.whole ? "" : "a text that tunedgemm export has written");
       }},
      {{"output", "element type of C and D; default that of the inputs, f16 for fp8, s32 for s8"},
       read_output},
      {{"order_c", "order of C: row (default) or col"},
       [](Text text, ShapeDraft& draft) { return read_order(text, draft.order_c); }},
      {{"order_d", "order of D: row (default) or col"},
       [](Text text, ShapeDraft& draft) { return read_order(text, draft.order_d); }},
  };
  for (std::size_t matrix = 0; matrix < 4; ++matrix) {
    rules.push_back({kLeadingDimensions[matrix], [matrix](Text text, ShapeDraft& draft) {
                       return read_whole(text, 1, draft.leading_dimensions[matrix].emplace());
                     }});
    rules.push_back({kBatchStrides[matrix], [matrix](Text text, ShapeDraft& draft) {
                       return read_whole(text, 0, draft.batch_strides[matrix].emplace());
                     }});
  }
  for (const ProblemField& field : problem_fields()) {
    if (!field.meaning.empty()) {
      rules.push_back({{field.name, field.meaning}, [&field](Text text, ShapeDraft& draft) {
                         return std::string(field.read(text, draft.problem) ? "" : field.expected);
                       }});
    }
  }
  return rules;
}

const std::vector<FieldRule>& field_rules() {
  static const std::vector<FieldRule> rules = make_rules();
  return rules;
}

const FieldRule* find_rule(std::string_view name) {
  const auto& rules = field_rules();
  const auto rule = std::find_if(rules.begin(), rules.end(), [&](const FieldRule& candidate) {
    return candidate.description.name == name;
  });
  return rule == rules.end() ? nullptr : &*rule;
}

// Sets the matrix's leading dimension, batch stride and alignment from the draft.
void set_strides(Matrix& matrix, std::int64_t rows, std::int64_t columns, std::size_t index,
                 const ShapeDraft& draft) {
  const bool row_major = matrix.order == Order::kRowMajor;
  const std::int64_t packed = std::max<std::int64_t>(1, row_major ? columns : rows);
  matrix.leading_dimension = draft.leading_dimensions[index].value_or(packed);
  std::int64_t stride = 0;
  if (draft.problem.batch > 1 &&
      __builtin_mul_overflow(matrix.leading_dimension, row_major ? rows : columns, &stride)) {
    stride = std::numeric_limits<std::int64_t>::max();  // why_not refuses it
  }
  matrix.batch_stride = draft.batch_strides[index].value_or(stride);
  matrix.alignment_bytes = alignment_class(0, matrix, draft.problem.batch);
}

void read_field(const Field& field, ShapeDraft& draft) {
  const FieldRule* rule = find_rule(field.name);
  if (rule == nullptr) {
    throw std::invalid_argument('"' + field.name + "\" is not a field of a shape");
  }
  if (const std::string expected = rule->read(field.value, draft); !expected.empty()) {
    throw std::invalid_argument(field.name + " is \"" + field.value + "\"; expected " + expected);
  }
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
  set_strides(problem.a, problem.m, problem.k, 0, draft);
  set_strides(problem.b, problem.k, problem.n, 1, draft);
  set_strides(problem.c, problem.m, problem.n, 2, draft);
  set_strides(problem.d, problem.m, problem.n, 3, draft);
  return problem;
}

// The shape of a line that tunedgemm export wrote. Its other fields repeat parts of the problem.
Shape to_whole_shape(std::span<const Field> fields) {
  ShapeDraft draft;
  for (const Field& field : fields) {
    if (field.name == "problem" || field.name == "name") {
      read_field(field, draft);
    }
  }
  const Problem& problem = *draft.whole;
  if (const std::string reason = why_not(problem); !reason.empty()) {
    throw NotComputable(reason);
  }
  const std::map<std::string_view, std::string> parts{
      {"types", types_text(problem)},          {"layout", layout_text(problem)},
      {"activation", epilogue_text(problem)},  {"m", std::to_string(problem.m)},
      {"n", std::to_string(problem.n)},        {"k", std::to_string(problem.k)},
      {"batch", std::to_string(problem.batch)}};
  for (const auto& [name, value] : fields) {
    const auto part = parts.find(name);
    if (name != "problem" && name != "name" && (part == parts.end() || part->second != value)) {
      std::string sentence = name;
      sentence.append(" is \"").append(value).append(
          "\", which the field problem does not say; to change a shape, remove the field problem "
          "and write types as in \"f16->f32\"");
      throw std::invalid_argument(sentence);
    }
  }
  return {draft.name, problem};
}

}  // namespace

std::string extents_text(const Problem& problem) {
  std::string text =
      std::to_string(problem.m) + "x" + std::to_string(problem.n) + "x" + std::to_string(problem.k);
  return problem.batch > 1 ? std::to_string(problem.batch) + " of " + text : text;
}

std::string shape_text(const Shape& shape) {
  return shape.name.empty() ? extents_text(shape.problem)
                            : shape.name + (shape.rung.empty() ? "" : " " + shape.rung);
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

bool has_field(std::span<const Field> fields, std::string_view name) {
  return std::any_of(fields.begin(), fields.end(),
                     [&](const Field& field) { return field.name == name; });
}

Shape to_shape(std::span<const Field> fields) {
  if (has_field(fields, "problem")) {
    return to_whole_shape(fields);
  }
  ShapeDraft draft;
  for (const Field& field : fields) {
    read_field(field, draft);
  }
  for (const std::string name : {"types", "m", "n", "k"}) {
    if (!has_field(fields, name)) {
      throw std::invalid_argument(
          "the shape has no " + name + "; expected at least types, m, n and k" +
          (name == "m" ? "; tune-all --m-ladder 1,16,4096 tunes a list without m" : ""));
    }
  }
  if (has_field(fields, "numerics")) {
    draft.numerics = draft.problem.numerics;
  }
  const Problem problem = to_problem(draft);
  if (const std::string reason = why_not(problem); !reason.empty()) {
    throw NotComputable(reason);
  }
  return {draft.name, problem};
}

}  // namespace tunedgemm::internal
