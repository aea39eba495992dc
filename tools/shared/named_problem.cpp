#include "tools/shared/named_problem.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <utility>

#include "kernel_templates/base/text.h"

namespace tunedgemm::internal {
namespace {

constexpr std::string_view kWholeFrom1 = "a whole number, at least 1 and below 2^63";

// The fields that only lists have, besides those of problem_grammar.h.
constexpr std::array<FieldDescription, 4> kFieldsOfLists{{
    {"name", "name of the shape in tables"},
    {"parallel", "extent that tensor parallelism divides: column (N), row (K) or none"},
    {"kv_heads", "key-value heads in N, which tensor parallelism does not split"},
    {"problem", "the whole problem, as tunedgemm export writes it"},
}};

bool is_of_lists(std::string_view name) {
  return std::ranges::find(kFieldsOfLists, name, &FieldDescription::name) != kFieldsOfLists.end();
}

[[noreturn]] void refuse(std::string_view name, std::string_view value, std::string_view expected) {
  throw std::invalid_argument(std::string(name) + " is \"" + std::string(value) + "\"; expected " +
                              std::string(expected));
}

void check_fields_of_lists(std::span<const Field> fields) {
  for (const auto& [name, value] : fields) {
    if (name == "parallel" && value != "column" && value != "row" && value != "none") {
      refuse(name, value, "column, row or none");
    }
    if (name == "kv_heads" && !(whole_number<std::int64_t>(value) > 0)) {
      refuse(name, value, kWholeFrom1);
    }
    if (field_name(name).empty()) {
      throw std::invalid_argument('"' + name + "\" is not a field of a shape");
    }
  }
}

// The shape of a line that tunedgemm export wrote. Its other fields repeat parts of the problem.
Problem whole_problem(std::span<const Field> fields) {
  const std::string text = value_of(fields, "problem");
  const std::optional<Problem> whole = parse_problem(text);
  if (!whole) {
    refuse("problem", text, "a text that tunedgemm export has written");
  }
  const Problem& problem = *whole;
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
  return problem;
}

// The problem of the fields of problem_grammar.h.
Problem completed_problem(std::span<const Field> fields) {
  std::vector<Field> of_problem(fields.begin(), fields.end());
  std::erase_if(of_problem, [](const Field& field) { return is_of_lists(field.name); });
  Problem written = default_problem();
  read_fields(of_problem, written);
  for (const std::string_view name : kRequiredFields) {
    if (!has_field(fields, name)) {
      throw std::invalid_argument(
          "the shape has no " + std::string(name) + "; expected at least types, m, n and k" +
          (name == "m" ? "; tune-all --m-ladder 1,16,4096 tunes a list without m" : ""));
    }
  }
  for (const auto& [name, extent] :
       {std::pair("m", written.m), {"n", written.n}, {"batch", written.batch}}) {
    if (extent == 0) {
      refuse(name, "0", kWholeFrom1);
    }
  }
  const Problem problem = completed(written);
  if (const std::string reason = why_not(problem); !reason.empty()) {
    throw NotComputable(reason);
  }
  return problem;
}

}  // namespace

std::string extents_text(const Problem& problem) {
  std::string text =
      std::to_string(problem.m) + "x" + std::to_string(problem.n) + "x" + std::to_string(problem.k);
  return problem.batch > 1 ? std::to_string(problem.batch) + " of " + text : text;
}

std::string shape_text(const Problem& problem) {
  return extents_text(problem) + " " + layout_text(problem);
}

std::string shape_text(const NamedProblem& shape) {
  return shape.name.empty() ? extents_text(shape.problem)
                            : shape.name + (shape.rung.empty() ? "" : " " + shape.rung);
}

std::vector<FieldDescription> shape_fields() {
  std::vector<FieldDescription> fields;
  for (const ProblemField& field : grammar_fields()) {
    fields.push_back({field.name, field.meaning, field.expected});
  }
  fields.insert(fields.end(), kFieldsOfLists.begin(), kFieldsOfLists.end());
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
  const auto fields = grammar_fields();
  const bool is_known =
      is_of_lists(name) || std::ranges::find(fields, name, &ProblemField::name) != fields.end();
  return is_known ? name : "";
}

bool has_field(std::span<const Field> fields, std::string_view name) {
  return std::any_of(fields.begin(), fields.end(),
                     [&](const Field& field) { return field.name == name; });
}

std::string value_of(std::span<const Field> fields, std::string_view name) {
  const auto field = std::ranges::find(fields, name, &Field::name);
  return field == fields.end() ? "" : field->value;
}

NamedProblem to_named_problem(std::span<const Field> fields) {
  check_fields_of_lists(fields);
  return {value_of(fields, "name"),
          has_field(fields, "problem") ? whole_problem(fields) : completed_problem(fields)};
}

}  // namespace tunedgemm::internal
