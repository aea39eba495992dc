#pragma once

// The schema of the file: its tables and its views.
//
// The views `best`, `trials`, `failures`, `missing`, `stale` and `coverage` are for people. The
// views `winner_v1` and `kernel_v1` are for programs: every later version of the library keeps
// them, so that an older one can still read what a newer one has written.

#include <string>
#include <vector>

#include "cache/sqlite/sqlite.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// In the file's header, where file(1) and sqlite3_analyzer look: "tgem".
constexpr int kApplicationId = 0x7467656d;

/// The version of the schema that this library writes; PRAGMA user_version.
constexpr int kSchemaVersion = 1;

/// Makes all tables and views in an empty database.
void create_schema(sqlite::Connection& connection);
/// The statements that make the views.
std::string views();

/// Throws sqlite::Error with SQLITE_CORRUPT if a table or view of this version is missing.
void check_names(sqlite::Connection& connection);
/// The same, and for every column too; takes a few milliseconds.
void check_schema(sqlite::Connection& connection);

// The columns of the table `problem` that are for people. The library itself reads `text` alone.

/// The problem's fields under the names that their table (problem_fields.h) gives them, and what
/// follows from them.
std::vector<sqlite::Column> problem_columns(const Problem& canonical);

/// The lines of CREATE TABLE for the columns of a problem's fields, each with a comma behind it.
std::string problem_column_definitions();

/// What is unusual about a problem and is not told by its sizes, types, layout and epilogue:
/// "lda=4104 align_b=2 warm"; empty for packed, aligned matrices.
std::string details_text(const Problem& canonical);

}  // namespace tunedgemm::internal
