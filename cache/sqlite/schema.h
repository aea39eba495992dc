#pragma once

// The schema of the file: its tables and its views.
//
// The views `best`, `trials`, `failures`, `missing`, `stale` and `coverage` are for people. The
// views `winner_v1` and `kernel_v1` are for programs: every later version of the library keeps
// them, so that an older one can still read what a newer one has written.

#include <string>

#include "cache/sqlite/sqlite.h"

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

}  // namespace tunedgemm::internal
