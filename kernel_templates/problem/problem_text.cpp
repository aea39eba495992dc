// Reading a problem's text form back; problem.cpp writes it.

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "kernel_templates/problem/fields.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm {
namespace {

// The parsers return whether the text was understood.

template <class Integer>
bool read(std::string_view text, Integer& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

template <class Enum>
bool read_enum(std::optional<Enum> parsed, Enum& value) {
  if (parsed) {
    value = *parsed;
  }
  return parsed.has_value();
}

bool read_matrix(std::string_view text, Matrix& matrix) {
  const auto parts = split(text, ',');
  return parts.size() == 5 && read_enum(parse_data_type(parts[0]), matrix.type) &&
         read_enum(parse_order(parts[1]), matrix.order) &&
         read(parts[2], matrix.leading_dimension) && read(parts[3], matrix.batch_stride) &&
         read(parts[4], matrix.alignment_bytes);
}

bool read_flag(std::string_view text, bool& flag) {
  flag = text == "1";
  return text == "0" || text == "1";
}

bool read_size(std::string_view field, std::string_view value, Problem& problem) {
  const std::array<std::pair<std::string_view, std::int64_t*>, 4> sizes{
      {{"m", &problem.m}, {"n", &problem.n}, {"k", &problem.k}, {"batch", &problem.batch}}};
  const auto size = std::find_if(sizes.begin(), sizes.end(),
                                 [&](const auto& named) { return named.first == field; });
  return size != sizes.end() && read(value, *size->second);
}

bool read_named_matrix(std::string_view field, std::string_view value, Problem& problem) {
  const std::array<std::pair<std::string_view, Matrix*>, 4> matrices{
      {{"a", &problem.a}, {"b", &problem.b}, {"c", &problem.c}, {"d", &problem.d}}};
  const auto matrix = std::find_if(matrices.begin(), matrices.end(),
                                   [&](const auto& named) { return named.first == field; });
  return matrix != matrices.end() && read_matrix(value, *matrix->second);
}

bool read_choice(std::string_view field, std::string_view value, Problem& problem) {
  if (field == "c_is_d") {
    return read_flag(value, problem.c_is_d);
  }
  if (field == "alpha") {
    return read_enum(parse_scalar_class(value), problem.alpha);
  }
  if (field == "beta") {
    return read_enum(parse_scalar_class(value), problem.beta);
  }
  if (field == "activation") {
    return read_enum(parse_activation(value), problem.activation);
  }
  if (field == "bias") {
    return read_enum(parse_bias(value), problem.bias);
  }
  if (field == "numerics") {
    return read_enum(parse_numerics(value), problem.numerics);
  }
  return field == "regime" && read_enum(parse_regime(value), problem.regime);
}

bool read_field(std::string_view field, std::string_view value, Problem& problem) {
  return read_size(field, value, problem) || read_named_matrix(field, value, problem) ||
         read_choice(field, value, problem);
}

}  // namespace

std::optional<Problem> parse_problem(std::string_view text) {
  constexpr std::size_t kFieldCount = 15;
  Problem problem;
  const auto fields = split_fields(text);
  if (fields.size() != kFieldCount) {
    return std::nullopt;
  }
  for (const auto& [field, value] : fields) {
    if (!read_field(field, value, problem)) {
      return std::nullopt;
    }
  }
  // A field that came twice left another at its default: the text of what was read then differs.
  return to_text(problem) == text ? std::optional(problem) : std::nullopt;
}

}  // namespace tunedgemm
