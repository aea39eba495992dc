#pragma once

// A damaged file is kept as "<name>.corrupt", and a new file takes its place. Nothing is repaired,
// since a cache can be rebuilt. SQLite's `.dump` can recover the readable rows. Private to cache.

#include <filesystem>
#include <string>

#include "cache/store_types.h"

namespace tunedgemm::internal {

/// Whether every page is readable, every reference has its row, and every table, column and view
/// exists. Reads the whole file. A file of a newer version counts as whole. So does a file that
/// cannot be examined now, for example because it is busy.
bool is_whole(const std::filesystem::path& path, int busy_timeout_ms);

struct Replacement {
  /// Whether the path now has a usable file.
  bool done = false;
  /// A sentence about the replacement or its failure; empty if another process has replaced the
  /// file.
  std::string message;
};

/// Sets a damaged file aside and puts a new one in its place. The caller must not have a connection
/// to the file. If several processes see the damage at once, one replaces the file and the others
/// wait. Throws sqlite::Error or std::filesystem::filesystem_error.
Replacement replace_damaged(const std::filesystem::path& path, StoreOptions::Journal journal,
                            int busy_timeout_ms);

/// The name under which a damaged file is kept. The name is fixed, so only the newest damaged file
/// is kept.
std::filesystem::path aside_of(const std::filesystem::path& path);

/// The shell command that copies the readable rows of the damaged file back into the cache at
/// `path`.
std::string recovery_command(const std::filesystem::path& path);

}  // namespace tunedgemm::internal
