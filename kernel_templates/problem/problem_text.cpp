// A problem's text, written and parsed by one table of fields. The problem's key is computed from
// the text (fingerprint in problem.cpp), so every field is part of the key.

#include <algorithm>
#include <array>

#include "kernel_templates/base/text.h"
#include "kernel_templates/problem/problem.h"
#include "kernel_templates/problem/problem_fields.h"

namespace tunedgemm::internal {
namespace {

// The read functions return whether the text is valid.

template <class Value>
bool read_parsed(std::optional<Value> parsed, Value& value) {
  if (parsed) {
    value = *parsed;
  }
  return parsed.has_value();
}

template <class Integer>
bool read(std::string_view text, Integer& value) {
  return read_parsed(whole_number<Integer>(text), value);
}

bool read_matrix(std::string_view text, Matrix& matrix) {
  const auto parts = split(text, ',');
  return parts.size() == 5 && read_parsed(parse_data_type(parts[0]), matrix.type) &&
         read_parsed(parse_order(parts[1]), matrix.order) &&
         read(parts[2], matrix.leading_dimension) && read(parts[3], matrix.batch_stride) &&
         read(parts[4], matrix.alignment_bytes);
}

bool read_flag(std::string_view text, bool& flag) {
  flag = text == "1" || text == "true";
  return flag || text == "0" || text == "false";
}

std::optional<ScalarClass> parse_scalar(std::string_view text) {
  return text == "0"   ? ScalarClass::kZero
         : text == "1" ? ScalarClass::kOne
                       : parse_scalar_class(text);
}

std::vector<FieldValue> matrix_values(const Matrix& matrix) {
  return {std::string(name(matrix.type)), std::string(name(matrix.order)), matrix.leading_dimension,
          matrix.batch_stride, std::int64_t{matrix.alignment_bytes}};
}

using Columns = std::array<std::string_view, kMostValues>;

template <auto kNumber>
constexpr ProblemField number_field(std::string_view name, std::string_view meaning = "",
                                    std::string_view expected = "") {
  return {name,
          [](const Problem& problem) {
            return std::vector{FieldValue(std::int64_t{problem.*kNumber})};
          },
          [](std::string_view text, Problem& problem) { return read(text, problem.*kNumber); },
          {name},
          meaning,
          expected};
}

template <Matrix Problem::*kMatrix>
constexpr ProblemField matrix_field(std::string_view name, const Columns& columns) {
  return {
      name,
      [](const Problem& problem) { return matrix_values(problem.*kMatrix); },
      [](std::string_view text, Problem& problem) { return read_matrix(text, problem.*kMatrix); },
      columns,
      "",
      "a type, row or col, and three whole numbers"};
}

template <bool Problem::*kFlag>
constexpr ProblemField flag_field(std::string_view name, std::string_view meaning,
                                  std::string_view expected) {
  return {
      name,
      [](const Problem& problem) { return std::vector{FieldValue(std::int64_t{problem.*kFlag})}; },
      [](std::string_view text, Problem& problem) { return read_flag(text, problem.*kFlag); },
      {name},
      meaning,
      expected};
}

template <auto kChoice, auto kParse>
constexpr ProblemField choice_field(std::string_view name, std::string_view meaning,
                                    std::string_view expected) {
  return {name,
          [](const Problem& problem) {
            return std::vector{FieldValue(std::string(internal::name(problem.*kChoice)))};
          },
          [](std::string_view text, Problem& problem) {
            return read_parsed(kParse(text), problem.*kChoice);
          },
          {name},
          meaning,
          expected};
}

constexpr NameList kAnyActivation = name_list(kActivations.rows, " or ");

// In the order of the text. New fields are added at the end.
constexpr std::array kFields{
    number_field<&Problem::m>("m"),
    number_field<&Problem::n>("n"),
    number_field<&Problem::k>("k"),
    number_field<&Problem::batch>("batch"),
    matrix_field<&Problem::a>(
        "a", {"type_a", "order_a", "leading_dimension_a", "batch_stride_a", "alignment_a"}),
    matrix_field<&Problem::b>(
        "b", {"type_b", "order_b", "leading_dimension_b", "batch_stride_b", "alignment_b"}),
    matrix_field<&Problem::c>(
        "c", {"", "order_c", "leading_dimension_c", "batch_stride_c", "alignment_c"}),
    matrix_field<&Problem::d>(
        "d", {"type_d", "", "leading_dimension_d", "batch_stride_d", "alignment_d"}),
    flag_field<&Problem::c_is_d>("c_is_d", "1 if C and D are the same memory; default 0", "0 or 1"),
    choice_field<&Problem::alpha, parse_scalar>("alpha", "0, 1 or other; default 1",
                                                "0, 1 or other"),
    choice_field<&Problem::beta, parse_scalar>("beta", "0, 1 or other; default 0", "0, 1 or other"),
    choice_field<&Problem::activation, parse_activation>("activation", kAnyActivation.text(),
                                                         kAnyActivation.text()),
    choice_field<&Problem::bias, parse_bias>(
        "bias", "none, row (one value per row of D) or col (one per column)", "none, row or col"),
    choice_field<&Problem::numerics, parse_numerics>(
        "numerics", "ieee, tf32 or emulated for f32; fast or promoted for fp8",
        "ieee, tf32, emulated, fast or promoted"),
    // A choice of earlier versions, part of the text of every stored problem.
    ProblemField{"regime",
                 [](const Problem&) { return std::vector<FieldValue>{"cold"}; },
                 [](std::string_view text, Problem&) { return text == "cold"; },
                 {"regime"},
                 "",
                 "cold"},
    choice_field<&Problem::launch_regime, parse_launch_regime>(
        "launches",
        "isolated (default) or back_to_back: whether other kernels run between the library's "
        "kernels",
        "isolated or back_to_back"),
    number_field<&Problem::invariant>(
        "invariant", "1: a row of D has the same bits for every M, wherever it is; default 0",
        "0 or 1"),
    number_field<&Problem::sm_limit>("sm_limit",
                                     "the SMs of a GPU that a launch may use; default 0: all",
                                     "a whole number from 0 to 2147483647"),
    choice_field<&Problem::scaling_a, parse_scaling>(
        "scaling_a",
        "the scales of an fp8 A: tensor (default), one; row, one for each row of A; block_1x128, "
        "one for every 128 elements of a row; block_128x128, one for 128 such rows",
        "tensor, row, block_1x128 or block_128x128"),
    choice_field<&Problem::scaling_b, parse_scaling>(
        "scaling_b", "the scales of an fp8 B, likewise, with columns of B for rows of A",
        "tensor, row, block_1x128 or block_128x128"),
    choice_field<&Problem::group_kind, parse_group_kind>(
        "group_kind",
        "none (default); or the batch is one of groups, which share the rows of A and D (rows; "
        "ranges, with gaps), fill a part of their own (counts) or share K (k)",
        "none, rows, counts, k or ranges"),
    number_field<&Problem::rows_per_group>(
        "rows_per_group",
        "the usual rows of a group, for which it is tuned; default 0: equal parts",
        "a whole number from 0 to 2147483647"),
};

}  // namespace

std::string to_text(const FieldValue& value) {
  const auto* number = std::get_if<std::int64_t>(&value);
  return number != nullptr ? std::to_string(*number) : std::get<std::string>(value);
}

std::string ProblemField::text(const Problem& problem) const {
  std::string text;
  for (const FieldValue& value : values(problem)) {
    text += text.empty() ? "" : ",";
    text += to_text(value);
  }
  return text;
}

std::span<const ProblemField> problem_fields() {
  return kFields;
}

std::string to_text(const Problem& problem) {
  static const Problem usual;
  std::string text;
  for (std::size_t index = 0; index < kFields.size(); ++index) {
    const ProblemField& field = kFields[index];
    const std::string value = field.text(problem);
    if (index < kFieldsAlwaysWritten || value != field.text(usual)) {
      text += text.empty() ? "" : " ";
      text.append(field.name).append("=").append(value);
    }
  }
  return text;
}

std::optional<Problem> parse_problem(std::string_view text) {
  Problem problem;
  for (const auto& [name, value] : split_fields(text)) {
    const auto field =
        std::find_if(kFields.begin(), kFields.end(),
                     [name = name](const ProblemField& each) { return each.name == name; });
    if (field == kFields.end() || !field->read(value, problem)) {
      return std::nullopt;
    }
  }
  // If a field is missing, repeated or out of order, the two texts differ.
  return to_text(problem) == text ? std::optional(problem) : std::nullopt;
}

}  // namespace tunedgemm::internal
