#pragma once

// The schema of the file: its tables and its views.
//
// The views `best`, `trials`, `failures`, `missing`, `stale`, `coverage` and `help` are for people.
// The views `winner_v1` and `kernel_v1` are for programs: every later version of the library keeps
// them, so that older versions can read the files of newer ones.

#include <string>
#include <string_view>
#include <vector>

#include "cache/sqlite/sqlite.h"
#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal {

/// "tgem", in the file's header, where file(1) and sqlite3_analyzer look for it.
constexpr int kApplicationId = 0x7467656d;

/// The schema version that this library writes; PRAGMA user_version.
constexpr int kSchemaVersion = 1;

/// Creates all tables and views in an empty database.
void create_schema(sqlite::Connection& connection);
/// The SQL that creates the views.
std::string views();
/// Sorts the winners for one problem and device: a call gets the first one.
inline constexpr std::string_view kPreferredFirst =
    "state = 'void', state = 'stale', tuned_at DESC";

// help.cpp: the meaning of the views for people and of their columns.

/// An SQL comment that says what a row of the view for people is, for the head of its text.
std::string head_comment(std::string_view view);
/// The SQL that creates the view `help`.
std::string help_view();

/// Throws sqlite::Error with SQLITE_CORRUPT if a table or view of this version is missing or there
/// is a trigger.
void check_names(sqlite::Connection& connection);
/// Does the same, and throws if a column of a table or of a view for programs is missing, or if
/// another view is invalid. Takes a few milliseconds.
void check_schema(sqlite::Connection& connection);

// The table `problem` has many columns for people and for searching. The library reads the problem
// itself from `text`.

/// The problem's fields under their names in problem_fields.h, and the columns derived from them.
std::vector<sqlite::Column> problem_columns(const Problem& problem);

/// The CREATE TABLE lines for the columns of a problem's fields, each ending in a comma.
std::string problem_column_definitions();

/// The properties of a problem that its sizes, types, layout and epilogue do not show, such as
/// "lda=4104 align_b=2"; empty if nothing is unusual.
std::string details_text(const Problem& problem);

}  // namespace tunedgemm::internal
