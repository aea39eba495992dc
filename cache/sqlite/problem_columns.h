#pragma once

// The columns of the table `problem` that are for people. The library itself reads `text` alone.

#include <string>
#include <vector>

#include "cache/sqlite/sqlite.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// What the problem's fields say, as their table (problem_fields.h) names it, and what follows from
/// them.
std::vector<sqlite::Column> problem_columns(const Problem& canonical);

/// Whether the table has a column for every field that is known here.
bool has_problem_columns(const sqlite::Connection& connection);
/// Adds the columns that the table lacks, since its file is older than a field, and fills them from
/// the problems' texts. For a library that does not know a column it has a default.
/// Precondition: a transaction.
void add_problem_columns(sqlite::Connection& connection);

/// What is unusual about a problem and is not told by its sizes, types, layout and epilogue:
/// "lda=4104 align_b=2 warm"; empty for packed, aligned matrices.
std::string details_text(const Problem& canonical);

}  // namespace tunedgemm::internal
