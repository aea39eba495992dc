#pragma once

// The shape of the file: its tables as a list of steps forward, and its views.
//
// The views `best`, `trials`, `failures`, `missing`, `stale` and `coverage` are for people. The
// views `winner_v1` and `kernel_v1` are for programs: every later version of the library keeps
// them, so that an older one can still read what a newer one has written.

#include <functional>
#include <span>
#include <string>

#include "cache/sqlite/sqlite.h"

namespace tunedgemm::internal {

/// In the file's header, where file(1) and sqlite3_analyzer look: "tgem".
constexpr int kApplicationId = 0x7467656d;

/// A step from one version to the next. One that was released is never changed.
struct Migration {
  std::string sql;
  /// What SQL cannot do, after it in the same transaction.
  std::function<void(sqlite::Connection&)> finish = nullptr;
};
/// The steps forward: the first makes the tables of version 1 in an empty file, and step n takes a
/// file from version n - 1 to n.
std::span<const Migration> migrations();
/// The version that this library writes; PRAGMA user_version.
int schema_version();
/// Drops all views and makes them as this version has them.
std::string views();

/// Throws sqlite::Error with SQLITE_CORRUPT if a table or view of this version is missing.
void check_names(sqlite::Connection& connection);
/// The same, and for every column too; takes a few milliseconds.
void check_schema(sqlite::Connection& connection);

/// Takes the file to the last of `steps`, and gives it the columns that a problem's fields have
/// now, in one transaction, or changes nothing.
void migrate(sqlite::Connection& connection, std::span<const Migration> steps);

}  // namespace tunedgemm::internal
