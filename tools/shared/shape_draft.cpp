#include "tools/shared/shape_draft.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "kernel_templates/base/text.h"
#include "kernel_templates/problem/problem_fields.h"

namespace tunedgemm::internal {
namespace {

// The readers below return "" or what they would have understood.

std::string read_whole(std::string_view text, std::int64_t least, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool understood = error == std::errc() && end == text.data() + text.size();
  return understood && value >= least
             ? ""
             : "a whole number, at least " + std::to_string(least) + " and below 2^63";
}

template <std::int64_t kLeast>
std::string read_whole(std::string_view text, std::optional<std::int64_t>& value) {
  return read_whole(text, kLeast, value.emplace());
}

template <class Value>
std::string read_name(std::optional<Value> parsed, Value& value, std::string_view expected) {
  value = parsed.value_or(value);
  return parsed ? "" : std::string(expected);
}

// What stands before the separator, which leaves `text` with what stands behind it.
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

// "f16", "e4m3xe5m2", "f16->f32", and the same with the signs that the library prints.
std::string read_types(std::string_view text, ShapeDraft& draft) {
  constexpr NameList kInputs =
      name_list(kDataTypes, ", ", [](const DataTypeTraits& row) { return row.outputs != 0; });
  std::string expected =
      std::string(kInputs.text()) + " or tf32, or more fully \"e4m3xe5m2->bf16\"";
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

using Text = std::string_view;
constexpr std::string_view kOrders = "row or col";

FieldRule rule_of(const ProblemField& field) {
  return {{field.name, field.meaning}, [&field](Text text, ShapeDraft& draft) {
            return std::string(field.read(text, draft.problem) ? "" : field.expected);
          }};
}

FieldRule rule_of_problem(std::string_view name) {
  const auto fields = problem_fields();
  return rule_of(*std::find_if(fields.begin(), fields.end(),
                               [&](const ProblemField& field) { return field.name == name; }));
}

std::vector<FieldRule> make_rules() {
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
      {{"batch", "batch entries; default 1"},
       [](Text text, ShapeDraft& draft) { return read_whole(text, 1, draft.problem.batch); }},
      {{"name", "what the shape is called in tables"},
       [](Text text, ShapeDraft& draft) {
         draft.name = text;
         return std::string();
       }},
      {{"output", "element type of C and D; default as the inputs, f16 for fp8, s32 for s8"},
       [](Text text, ShapeDraft& draft) {
         draft.d = parse_data_type(text);
         constexpr NameList kOutputs = name_list(kDataTypes, " or ", is_output);
         return draft.d ? "" : std::string(kOutputs.text());
       }},
      rule_of_problem("numerics"),
      rule_of_problem("activation"),
      rule_of_problem("bias"),
      rule_of_problem("alpha"),
      rule_of_problem("beta"),
      {{"order_c", "order of C: row (default) or col"},
       [](Text text, ShapeDraft& draft) {
         return read_name(parse_order(text), draft.order_c, kOrders);
       }},
      {{"order_d", "order of D: row (default) or col"},
       [](Text text, ShapeDraft& draft) {
         return read_name(parse_order(text), draft.order_d, kOrders);
       }},
      rule_of_problem("c_is_d"),
      rule_of_problem("regime"),
      rule_of_problem("launches"),
      {{"lda", "leading dimension of A in elements; default packed"},
       [](Text text, ShapeDraft& draft) {
         return read_whole<1>(text, draft.leading_dimensions[0]);
       }},
      {{"ldb", "leading dimension of B"},
       [](Text text, ShapeDraft& draft) {
         return read_whole<1>(text, draft.leading_dimensions[1]);
       }},
      {{"ldc", "leading dimension of C"},
       [](Text text, ShapeDraft& draft) {
         return read_whole<1>(text, draft.leading_dimensions[2]);
       }},
      {{"ldd", "leading dimension of D"},
       [](Text text, ShapeDraft& draft) {
         return read_whole<1>(text, draft.leading_dimensions[3]);
       }},
      {{"batch_stride_a", "elements from one A to the next; default packed, 0: the same A for all"},
       [](Text text, ShapeDraft& draft) { return read_whole<0>(text, draft.batch_strides[0]); }},
      {{"batch_stride_b", "elements from one B to the next"},
       [](Text text, ShapeDraft& draft) { return read_whole<0>(text, draft.batch_strides[1]); }},
      {{"batch_stride_c", "elements from one C to the next"},
       [](Text text, ShapeDraft& draft) { return read_whole<0>(text, draft.batch_strides[2]); }},
      {{"batch_stride_d", "elements from one D to the next"},
       [](Text text, ShapeDraft& draft) { return read_whole<0>(text, draft.batch_strides[3]); }},
  };
  for (const ProblemField& field : problem_fields()) {
    const bool known = std::any_of(rules.begin(), rules.end(), [&](const FieldRule& rule) {
      return rule.description.name == field.name;
    });
    if (!known && !field.meaning.empty()) {
      rules.push_back(rule_of(field));
    }
  }
  return rules;
}

}  // namespace

std::span<const FieldRule> field_rules() {
  static const std::vector<FieldRule> rules = make_rules();
  return rules;
}

}  // namespace tunedgemm::internal
