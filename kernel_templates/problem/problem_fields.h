#pragma once

// The table of a Problem's fields. It determines the problem's text, and thus its key; its columns
// in a cache; and, with problem_grammar.h, the fields that callers write.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// A value of a field: a number or a word.
using FieldValue = std::variant<std::int64_t, std::string>;
std::string to_text(const FieldValue& value);
/// A matrix field has five values; every other field has one.
inline constexpr std::size_t kMostValues = 5;

struct ProblemField {
  std::string_view name;
  std::vector<FieldValue> (*values)(const Problem& problem);
  /// Parses the text into the problem, and returns whether the text is valid. Accepts what text()
  /// returns, and possibly other spellings.
  bool (*read)(std::string_view text, Problem& problem);
  /// The database column of each value; "" if the value needs no column, since it is always the
  /// same or equals another column's.
  std::array<std::string_view, kMostValues> columns;
  /// Help for those who write problems; empty if the grammar (problem_grammar.h) expresses the
  /// field in another way.
  std::string_view meaning;
  std::string_view expected;  ///< the texts that read() accepts

  /// The values, separated by commas.
  std::string text(const Problem& problem) const;
};

/// All fields, in the order of the problem's text.
std::span<const ProblemField> problem_fields();
/// The text always contains these first fields. It contains a later field only if its value is not
/// the default, so that a new field leaves the keys of older problems unchanged.
inline constexpr std::size_t kFieldsAlwaysWritten = 15;

}  // namespace tunedgemm::internal
