#pragma once

// A damaged file is kept as "<name>.corrupt" and a new one begins in its place. A cache can be made
// again, so nothing is repaired here; SQLite's own `.dump` reads what can be read. Private to
// cache.

#include <filesystem>
#include <string>

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
/// same time: one of them sets it aside, and the others wait for that one. Throws sqlite::Error or
/// std::filesystem::filesystem_error.
Replacement replace_damaged(const std::filesystem::path& path, StoreOptions::Journal journal,
                            int busy_timeout_ms);

/// The name of a file that was set aside. It is one name, so that one copy is kept, the newest,
/// however often a file is damaged.
std::filesystem::path aside_of(const std::filesystem::path& path);

/// The shell command that brings the readable rows of the file that was set aside back into the
/// cache at `path`.
std::string recovery_command(const std::filesystem::path& path);

}  // namespace tunedgemm::internal
