#include "kernel_templates/problem/problem_grammar.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <optional>
#include <stdexcept>

#include "kernel_templates/base/text.h"

namespace tunedgemm::internal {
namespace {

using Text = std::string_view;
using Values = std::vector<FieldValue>;

bool read_whole(Text text, std::int64_t least, std::int64_t& value) {
  const std::optional<std::int64_t> number = whole_number<std::int64_t>(text);
  value = number.value_or(value);
  return number && value >= least;
}
constexpr Text kWholeFrom0 = "a whole number, at least 0 and below 2^63";
constexpr Text kWholeFrom1 = "a whole number, at least 1 and below 2^63";

// Returns the part before the first separator that occurs, and leaves the rest in `text`.
std::optional<Text> cut(Text& text, std::initializer_list<Text> separators) {
  for (const Text separator : separators) {
    if (const std::size_t at = text.find(separator); at != text.npos) {
      const Text before = text.substr(0, at);
      text.remove_prefix(at + separator.size());
      return before;
    }
  }
  return std::nullopt;
}

std::optional<DataType> input_type(Text text) {
  return text == "tf32" ? DataType::kF32 : text == "i8" ? DataType::kS8 : parse_data_type(text);
}

// Reads "f16", "e4m3xe5m2" or "f16->f32", also with the library's own signs, "×" and "→".
bool read_types(Text text, Problem& written) {
  Text output = text;
  const std::optional<Text> inputs = cut(output, {"->", "→"});
  Text second = inputs.value_or(text);
  const std::optional<Text> first = cut(second, {"x", "×"});
  const std::optional<DataType> a = input_type(first.value_or(second)), b = input_type(second);
  const std::optional<DataType> d = !a       ? std::nullopt
                                    : inputs ? parse_data_type(output)
                                             : traits(*a).output;
  if (!a || !b || !d) {
    return false;
  }
  written.a.type = *a;
  written.b.type = *b;
  written.c.type = written.d.type = *d;
  written.numerics = first == "tf32" || second == "tf32" ? Numerics::kTf32 : kDefaultNumerics;
  return true;
}

Values types_value(const Problem& written) {
  const DataType a = written.a.type, b = written.b.type, d = written.d.type;
  return {std::string(name(a)) + (b == a ? "" : "x" + std::string(name(b))) +
          (d == traits(a).output ? "" : "->" + std::string(name(d)))};
}

bool read_layout(Text text, Problem& written) {
  if (text.size() != 2 || text.find_first_not_of("nt") != text.npos) {
    return false;
  }
  written.a.order = text[0] == 'n' ? Order::kRowMajor : Order::kColumnMajor;
  written.b.order = text[1] == 'n' ? Order::kRowMajor : Order::kColumnMajor;
  return true;
}

constexpr bool is_output(const DataTypeTraits& row) {
  return std::any_of(std::begin(kDataTypes), std::end(kDataTypes),
                     [&](const auto& input) { return (input.outputs & types({row.type})) != 0; });
}
constexpr NameList kTypes = [] {
  NameList list =
      name_list(kDataTypes, ", ", [](const DataTypeTraits& row) { return row.outputs != 0; });
  list.append(" or tf32, or in full \"e4m3xe5m2->bf16\"");
  return list;
}();
constexpr NameList kOutputs = name_list(kDataTypes, " or ", is_output);

using ValuesOf = Values(const Problem&);
using Read = bool(Text, Problem&);
constexpr ProblemField field(Text name, ValuesOf values, Read read, Text meaning, Text expected) {
  return {name, values, read, {}, meaning, expected};
}

// The members lead from the problem to a number.
template <std::int64_t kLeast, auto... kMembers>
constexpr ProblemField number_field(Text name, Text meaning) {
  return field(
      name, [](const Problem& written) { return Values{(written.*....*kMembers)}; },
      [](Text text, Problem& written) {
        return read_whole(text, kLeast, (written.*....*kMembers));
      },
      meaning, kLeast == 0 ? kWholeFrom0 : kWholeFrom1);
}

template <Matrix Problem::*kMatrix>
constexpr ProblemField order_field(Text name, Text meaning) {
  return field(
      name,
      [](const Problem& written) {
        return Values{std::string(internal::name((written.*kMatrix).order))};
      },
      [](Text text, Problem& written) {
        const std::optional<Order> order = parse_order(text);
        (written.*kMatrix).order = order.value_or(Order::kRowMajor);
        return order.has_value();
      },
      meaning, "row or col");
}

template <Matrix Problem::*kMatrix>
constexpr ProblemField batch_stride_field(Text name, Text meaning) {
  return field(
      name,
      [](const Problem& written) {
        const std::int64_t stride = (written.*kMatrix).batch_stride;
        return stride == 0 ? Values{"packed"}
                           : Values{FieldValue(stride == kBroadcast ? 0 : stride)};
      },
      [](Text text, Problem& written) {
        std::int64_t& stride = (written.*kMatrix).batch_stride;
        const bool is_valid = read_whole(text, 0, stride);
        stride = stride == 0 ? kBroadcast : stride;
        return is_valid;
      },
      meaning, kWholeFrom0);
}

// `types` comes first, since `output` and `numerics` replace its defaults.
constexpr auto kLeadingDimension = &Matrix::leading_dimension;
constexpr std::array kOwnFields{
    field("types", types_value, read_types, "element types: f16, tf32, e4m3xe5m2->bf16, ...",
          kTypes.text()),
    field(
        "layout", [](const Problem& written) { return Values{layout_text(written).substr(0, 2)}; },
        read_layout, "nn, nt, tn, tt: A and B row-major (n) or transposed (t); default nn",
        "nn, nt, tn or tt"),
    number_field<0, &Problem::m>("m", "rows of D"),
    number_field<0, &Problem::n>("n", "columns of D"),
    number_field<0, &Problem::k>("k", "columns of A"),
    number_field<0, &Problem::batch>("batch", "number of matrices in the batch; default 1"),
    field(
        "groups", [](const Problem& /*batch has it*/) { return Values{""}; },
        [](Text text, Problem& written) {
          const bool has_kind = written.group_kind != GroupKind::kNone;
          written.group_kind = has_kind ? written.group_kind : GroupKind::kRows;
          return read_whole(text, 1, written.batch);
        },
        "the batch, of a grouped product: group_kind, or rows if it is left out", kWholeFrom1),
    field(
        "output", [](const Problem& /*types has it*/) { return Values{""}; },
        [](Text text, Problem& written) {
          const std::optional<DataType> type = parse_data_type(text);
          written.c.type = written.d.type = type.value_or(written.d.type);
          return type.has_value();
        },
        "element type of C and D; default that of the inputs, f16 for fp8, s32 for s8",
        kOutputs.text()),
    order_field<&Problem::c>("order_c", "order of C: row (default) or col"),
    order_field<&Problem::d>("order_d", "order of D: row (default) or col"),
    number_field<1, &Problem::a, kLeadingDimension>(
        "lda", "leading dimension of A in elements; default packed"),
    batch_stride_field<&Problem::a>(
        "batch_stride_a",
        "elements from one A to the next; default packed, 0: one A for the batch"),
    number_field<1, &Problem::b, kLeadingDimension>("ldb", "leading dimension of B"),
    batch_stride_field<&Problem::b>("batch_stride_b", "elements from one B to the next"),
    number_field<1, &Problem::c, kLeadingDimension>("ldc", "leading dimension of C"),
    batch_stride_field<&Problem::c>("batch_stride_c", "elements from one C to the next"),
    number_field<1, &Problem::d, kLeadingDimension>("ldd", "leading dimension of D"),
    batch_stride_field<&Problem::d>("batch_stride_d", "elements from one D to the next"),
};

}  // namespace

Problem completed(Problem written) {
  const auto complete = [&](Matrix& matrix, std::int64_t rows, std::int64_t columns,
                            bool is_shared) {
    const bool row_major = matrix.order == Order::kRowMajor;
    std::int64_t& stride = matrix.batch_stride;
    if (matrix.leading_dimension == 0) {
      matrix.leading_dimension = std::max<std::int64_t>(row_major ? columns : rows, 1);
    }
    if (stride == kBroadcast) {
      stride = 0;
    } else if (stride == 0 && written.batch > 1 && !is_shared &&
               __builtin_mul_overflow(row_major ? rows : columns, matrix.leading_dimension,
                                      &stride)) {
      stride = std::numeric_limits<std::int64_t>::max();  // why_not refuses it
    }
    matrix.alignment_bytes =
        alignment_class(static_cast<std::uintptr_t>(matrix.alignment_bytes), matrix, written.batch);
  };
  complete(written.a, written.m, written.k, shares_rows(written) || shares_depth(written));
  complete(written.b, written.k, written.n, shares_depth(written));
  complete(written.c, written.m, written.n, shares_rows(written));
  complete(written.d, written.m, written.n, shares_rows(written));
  if (written.numerics == kDefaultNumerics) {
    written.numerics = has_block_scales(written) ? Numerics::kPromoted
                       : is_fp8(written.a.type)  ? Numerics::kFast
                                                 : Numerics::kIeee;
  }
  return written;
}

std::span<const ProblemField> grammar_fields() {
  // Never destroyed: exit handlers write problems.
  static const std::vector<ProblemField>& fields = *[] {
    auto* const all = new std::vector<ProblemField>(kOwnFields.begin(), kOwnFields.end());
    std::ranges::copy_if(problem_fields(), std::back_inserter(*all),
                         [](const ProblemField& field) { return !field.meaning.empty(); });
    return all;
  }();
  return fields;
}

void read_fields(std::span<const Field> fields, Problem& written) {
  const auto known = grammar_fields();
  for (const Field& field : fields) {
    if (std::ranges::find(known, field.name, &ProblemField::name) == known.end()) {
      std::string sentence = '"' + field.name + "\" is not a field of a problem; the fields are ";
      for (const ProblemField& each : known) {
        sentence.append(&each == &known.front() ? "" : ", ").append(each.name);
      }
      throw std::invalid_argument(sentence);
    }
  }
  Problem read = written;
  for (const ProblemField& each : known) {
    const auto field = std::ranges::find(fields, each.name, &Field::name);
    if (field == fields.end()) {
      continue;
    }
    if (std::ranges::count(fields, each.name, &Field::name) > 1) {
      throw std::invalid_argument(field->name + " is given twice; give it once");
    }
    if (!each.read(field->value, read)) {
      throw std::invalid_argument(field->name + " is \"" + field->value + "\"; expected " +
                                  std::string(each.expected));
    }
  }
  written = read;
}

void read_text(std::string_view text, Problem& written) {
  std::vector<Field> fields;
  for (const auto& [name, value] : split_fields(text)) {
    fields.push_back({std::string(name), std::string(value)});
  }
  read_fields(fields, written);
}

std::string written_text(const Problem& written) {
  std::string text;
  for (const ProblemField& field : grammar_fields()) {
    const std::string value = field.text(written);
    const bool is_required =
        std::ranges::find(kRequiredFields, field.name) != std::end(kRequiredFields);
    if (is_required || value != field.text(default_problem())) {
      text.append(text.empty() ? "" : " ").append(field.name).append("=").append(value);
    }
  }
  return text;
}

}  // namespace tunedgemm::internal
