#pragma once

// The columns of the table `problem` that are for people. The library itself reads `text` alone.

#include <string>
#include <vector>

#include "cache/sqlite/sqlite.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// The problem's fields under the names that their table (problem_fields.h) gives them, and what
/// follows from them.
std::vector<sqlite::Column> problem_columns(const Problem& canonical);

/// The lines of CREATE TABLE for the columns of a problem's fields, each with a comma behind it.
std::string problem_column_definitions();

/// What is unusual about a problem and is not told by its sizes, types, layout and epilogue:
/// "lda=4104 align_b=2 warm"; empty for packed, aligned matrices.
std::string details_text(const Problem& canonical);

}  // namespace tunedgemm::internal
