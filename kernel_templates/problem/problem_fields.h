#pragma once

// The fields of a Problem, one by one: the table from which its text, and with it its key and its
// row in a cache, and the fields of shapes in lists and on command lines are made.

#include <span>
#include <string>
#include <string_view>

#include "kernel_templates/problem/problem.h"

namespace tunedgemm {

struct ProblemField {
  std::string_view name;
  std::string (*text)(const Problem& problem);
  /// Whether the text was understood.
  bool (*read)(std::string_view text, Problem& problem);
  /// For people who write a shape down; empty where shapes say it in another way.
  std::string_view meaning;
  std::string_view expected;  ///< what read() understands
};

/// In the order of the text.
std::span<const ProblemField> problem_fields();

}  // namespace tunedgemm
