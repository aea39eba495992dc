#pragma once

// What happens to a file that is damaged: once a new one with everything that could still be read
// stands, that one takes its place, and the damaged one is kept as "<name>.corrupt". Private to
// cache.

#include <filesystem>
#include <string>

#include "cache/sqlite/sqlite.h"
#include "cache/store.h"

namespace tunedgemm::internal {

/// Whether every page can be read, every reference has its row, and every table, column and view is
/// there: reads the whole file. One of a newer version is not judged.
bool is_whole(const std::filesystem::path& path, int busy_timeout_ms);

struct Replacement {
  /// Whether the path now has a file that is worth opening.
  bool done = false;
  /// What was done or why it could not be; empty where another process had done it already.
  std::string message;
};

/// Call it with no connection of one's own to the file. Several processes may see the damage at the
/// same time: one of them repairs it, and the others wait for that one. Throws sqlite::Error or
/// std::filesystem::filesystem_error.
Replacement replace_damaged(const std::filesystem::path& path, StoreOptions::Journal journal,
                            int busy_timeout_ms);

/// Copies the rows that can be read into an empty database of this version and drops those that
/// refer to rows that could not. Returns the number of winners. May change the damaged file, which
/// is therefore a copy.
std::int64_t salvage(const std::filesystem::path& damaged, sqlite::Connection& into);

}  // namespace tunedgemm::internal
