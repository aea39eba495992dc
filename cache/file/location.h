#pragma once

// Decides where the store's files are and which journal mode is safe there. Private to cache.

#include <filesystem>
#include <vector>

#include "cache/store_types.h"

namespace tunedgemm::internal {

/// The file named by the options or the environment, as an absolute path. Empty if neither names a
/// file and there is no home directory. A program with more privileges than its user (set-uid)
/// ignores the environment.
std::filesystem::path store_path(const StoreOptions& options);
/// The read-only files that the options name or, if they name none, the environment.
std::vector<std::filesystem::path> system_store_paths(const StoreOptions& options);

/// Creates the folder and its missing parents with mode 0700, since the files' content will be
/// executed.
std::error_code make_private_folder(const std::filesystem::path& folder);

/// Whether the folder is on a known local file system. WAL needs memory that all processes share,
/// which a network file system does not provide.
bool is_on_local_file_system(const std::filesystem::path& folder);
/// Whether this version of SQLite has the fix for the WAL-reset bug, by which two processes that
/// write and checkpoint at the same moment can lose committed pages (sqlite.org/wal.html, "The
/// WAL-Reset Bug").
bool has_wal_reset_repair(int sqlite_version_number);
/// The journal mode of a new file. Never kAutomatic.
StoreOptions::Journal journal_for(StoreOptions::Journal wish, bool local_file_system,
                                  int sqlite_version_number);

}  // namespace tunedgemm::internal
