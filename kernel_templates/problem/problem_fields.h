#pragma once

// The fields of a Problem, one by one: the table from which its text, and with it its key, its
// columns in a cache, and the fields of shapes in lists and on command lines are made.

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
  /// Whether the text was understood. Takes more than text() gives, where people may write more.
  bool (*read)(std::string_view text, Problem& problem);
  /// For each value the column of a database that has it; "" for a value that another one tells.
  std::array<std::string_view, kMostValues> columns;
  /// For people who write a shape down; empty where shapes say it in another way.
  std::string_view meaning;
  std::string_view expected;  ///< what read() understands

  /// The values, separated by commas.
  std::string text(const Problem& problem) const;
};

/// In the order of the text.
std::span<const ProblemField> problem_fields();
/// Of these, the fields behind the first so many are left out of the text at their default, so that
/// the keys of problems that are older than a field stay what they are.
inline constexpr std::size_t kFieldsAlwaysWritten = 15;

}  // namespace tunedgemm::internal
