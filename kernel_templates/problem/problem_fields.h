#pragma once

// The fields of a Problem, one by one. This table determines the problem's text, and thereby its
// key, its columns in a cache, and the fields of shapes in lists and on command lines.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// A field has one value, a matrix five: numbers and words.
using FieldValue = std::variant<std::int64_t, std::string>;
inline constexpr std::size_t kMostValues = 5;

struct ProblemField {
  std::string_view name;
  std::vector<FieldValue> (*values)(const Problem& problem);
  /// Whether the text was understood. For fields that people write it accepts more than text()
  /// gives.
  bool (*read)(std::string_view text, Problem& problem);
  /// The database column of each value; "" if another column has the value.
  std::array<std::string_view, kMostValues> columns;
  /// The help text for people who write a shape; empty if shapes express the field in another way.
  std::string_view meaning;
  std::string_view expected;  ///< the texts that read() understands

  /// The values, separated by commas.
  std::string text(const Problem& problem) const;
};

/// In the order of the problem's text.
std::span<const ProblemField> problem_fields();
/// The text has the first fields always and the later ones only if they differ from their default,
/// so that a new field leaves the keys of older problems unchanged.
inline constexpr std::size_t kFieldsAlwaysWritten = 15;

}  // namespace tunedgemm::internal
