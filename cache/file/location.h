#pragma once

// Where the store's files are, and how they keep a transaction whole there. Private to cache.

#include <filesystem>
#include <vector>

#include "cache/store.h"

namespace tunedgemm::internal {

/// The file that the options or the environment name, as an absolute path; empty if neither names
/// one and there is no home. In a program that runs with more rights than its user the environment
/// is not asked.
std::filesystem::path store_path(const StoreOptions& options);
/// The files that are only read.
std::vector<std::filesystem::path> system_store_paths(const StoreOptions& options);

/// Makes the folder and those above it, for this user alone: what the files hold will be executed.
std::error_code make_private_folder(const std::filesystem::path& folder);

/// Whether the folder is on a file system that is known to be of this machine alone. WAL needs
/// memory that all processes share, which a network file system does not give.
bool is_on_local_file_system(const std::filesystem::path& folder);
/// Whether this SQLite has the repair of the WAL-reset race, by which two processes that write and
/// check-point at the same instant can lose committed pages (sqlite.org/wal.html, "The WAL-Reset
/// Bug").
bool has_wal_reset_repair(int sqlite_version_number);
/// The rule for a new file. Never kAutomatic.
StoreOptions::Journal journal_for(StoreOptions::Journal wish, bool local_file_system,
                                  int sqlite_version_number);

}  // namespace tunedgemm::internal
