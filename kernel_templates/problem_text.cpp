// Reading a problem's text form back; problem.cpp writes it.

#include <charconv>

#include "kernel_templates/fields.h"
#include "kernel_templates/problem.h"

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

bool read_field(std::string_view field, std::string_view value, Problem& problem) {
  if (field == "m") return read(value, problem.m);
  if (field == "n") return read(value, problem.n);
  if (field == "k") return read(value, problem.k);
  if (field == "batch") return read(value, problem.batch);
  if (field == "a") return read_matrix(value, problem.a);
  if (field == "b") return read_matrix(value, problem.b);
  if (field == "c") return read_matrix(value, problem.c);
  if (field == "d") return read_matrix(value, problem.d);
  if (field == "c_is_d") return read_flag(value, problem.c_is_d);
  if (field == "alpha") return read_enum(parse_scalar_class(value), problem.alpha);
  if (field == "beta") return read_enum(parse_scalar_class(value), problem.beta);
  if (field == "activation") return read_enum(parse_activation(value), problem.activation);
  if (field == "bias") return read_enum(parse_bias(value), problem.bias);
  if (field == "numerics") return read_enum(parse_numerics(value), problem.numerics);
  if (field == "regime") return read_enum(parse_regime(value), problem.regime);
  return false;
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
